// One of the ranks 1, 2, ...:   node rank.mjs INDEX OPTIONS [MISTAKE]
import { pathToFileURL } from 'node:url'

const { serveRank } = await import(pathToFileURL(process.argv[2]).href)
const { threads } = await import(new URL('../tensor/index.js', pathToFileURL(process.argv[2])).href)
threads(1)

/** What a rank with a mistake does in place of a command. */
const mistakes = {
  'has other files': () => ({
    'model.load': async ({ body }) => {
      if (body.options.role === 'language') return { body: 'other weights' }
      throw Object.assign(new Error(`${body.directory} has no config.json`), { name: 'ModelError' })
    },
  }),
  'loops for ever': () => ({
    'model.score': () => {
      for (;;);
    },
  }),
  'never answers': () => ({ 'model.score': () => new Promise(() => {}) }),
  'leaves out a step': () => ({ model: () => new Promise(() => {}) }),
  'makes another collective': ({ group }, models) => ({
    model: async call => {
      await group.barrier()
      return models.handlers.model(call)
    },
  }),
}
const handlers = mistakes[process.argv[4]]
if (process.argv[4] === 'is of another build') Object.defineProperty(process, 'arch', { value: 'pdp11' })
try {
  await serveRank({ ...JSON.parse(process.argv[3]), ...(handlers && { handlers }) })
  process.exit(0)
} catch (error) {
  console.error(error.message)
  process.exit(1)
}
