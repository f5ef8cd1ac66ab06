/** The contract of generators over several servers, and over servers that were started otherwise. */
import { connectSglang, connectVllm } from '../../../src/rollout/index.js'
import { SglangServer } from '../../support/doubles/sglang-server.js'
import { VllmServer } from '../../support/doubles/vllm-server.js'
import { contractOver } from './contract-over.js'

contractOver(
  'vLLM without --enable-scale-out',
  () => [new VllmServer({ without: ['scale-out'], logprobs: 'processed' })],
  connectVllm,
)
contractOver('two vLLM servers', () => [new VllmServer(), new VllmServer()], connectVllm)

const deterministic = ['enable-deterministic-inference', 'enable-memory-saver'] as const
contractOver(
  'SGLang with streams of what came',
  () => [new SglangServer({ flags: [...deterministic, 'incremental-streaming-output'], logprobs: 'raw' })],
  connectSglang,
)
contractOver(
  'two SGLang servers',
  () => [new SglangServer({ flags: deterministic }), new SglangServer({ flags: deterministic })],
  connectSglang,
)
