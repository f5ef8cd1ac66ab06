// One of the ranks 1, 2, ...:   node rank.mjs INDEX OPTIONS
import { pathToFileURL } from 'node:url'

const { serveRank } = await import(pathToFileURL(process.argv[2]).href)
const { threads } = await import(new URL('../tensor/index.js', pathToFileURL(process.argv[2])).href)
threads(1)
try {
  await serveRank(JSON.parse(process.argv[3]))
  process.exit(0)
} catch (error) {
  console.error(error.message)
  process.exit(1)
}
