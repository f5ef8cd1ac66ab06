/** Run by process.test.ts: a server goes away with a request under way, and nothing else is left that would keep the process. */
import { connectVllm } from '../../../src/rollout/index.js'
import { toyVocabSize } from '../../support/doubles/toy-model.js'
import { VllmServer } from '../../support/doubles/vllm-server.js'

const server = await new VllmServer().start()
server.engine.msPerToken = 20
const engine = await connectVllm({ urls: [server.url], vocabSize: toyVocabSize, patienceMs: 1500 })
const sampling = { seed: 1, maxNewTokens: 100, ignoreEos: true }
const stream = engine.generate([{ id: 'a', promptIds: Int32Array.of(5, 6, 7), sampling }])
setTimeout(() => server.stop(), 100)
const { value } = await stream.next()
console.log(value?.kind, value?.kind === 'failed' ? value.reason : '')
