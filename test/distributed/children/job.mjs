// A rank of a job that trains and keeps a journal:   node job.mjs INDEX OPTIONS
import { pathToFileURL } from 'node:url'
import { trainJournalled } from './journalled.mjs'

const index = pathToFileURL(process.argv[2]).href
const { serveRank, World, DistributedModel } = await import(index)
const { endWithParent, threads } = await import(new URL('../tensor/index.js', index))
threads(1)
endWithParent()
const { work: job, ...options } = JSON.parse(process.argv[3])
try {
  if (options.rank > 0) await serveRank(options)
  else {
    const world = await World.open(options)
    await trainJournalled(await DistributedModel.load(world, job.model, job.options), job, console.log)
    await world.close()
  }
  process.exit(0)
} catch (error) {
  console.error(error.message)
  process.exit(1)
}
