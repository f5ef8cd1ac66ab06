// Asks for a long sample, and has nothing else that would keep the process.   node waits-for-servers.mjs INDEX URL VOCABULARY
import { pathToFileURL } from 'node:url'

const [, , index, url, vocabSize] = process.argv
const { connectVllm } = await import(pathToFileURL(index).href)
const engine = await connectVllm({ urls: [url], vocabSize: Number(vocabSize), patienceMs: 1500 })
const sampling = { seed: 1, maxNewTokens: 100, ignoreEos: true }
const stream = engine.generate([{ id: 'a', promptIds: Int32Array.of(5, 6, 7), sampling }])
const first = stream.next()
console.log('asked')
const { value } = await first
console.log(value?.kind, value?.kind === 'failed' ? value.reason : '')
