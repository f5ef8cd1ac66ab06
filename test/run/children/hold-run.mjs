// Opens a run, says `held` or why it could not, and lets go when its input ends.   node hold-run.mjs INDEX DIRECTORY
import { pathToFileURL } from 'node:url'

const [, , index, directory] = process.argv
const { Run } = await import(pathToFileURL(index).href)
const identity = {
  command: 'sft',
  config: { seed: 1 },
  origins: {},
  fingerprints: {},
  versions: { whetstone: '0.1.0' },
}
try {
  const run = await Run.resume(directory, identity)
  await run.flush()
  console.log('held')
  process.stdin.resume().on('end', () => run.close('stopped'))
} catch (error) {
  console.log(error.message)
}
