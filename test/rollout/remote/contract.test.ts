/** Engines behind a network keep the contract of generators, over the doubles of both servers. */
import { connectSglang, connectVllm } from '../../../src/rollout/index.js'
import { SglangServer } from '../../support/doubles/sglang-server.js'
import { VllmServer } from '../../support/doubles/vllm-server.js'
import { contractOver } from './contract-over.js'

contractOver('vLLM', () => [new VllmServer()], connectVllm)
contractOver(
  'SGLang',
  () => [new SglangServer({ flags: ['enable-deterministic-inference', 'enable-memory-saver'] })],
  connectSglang,
)
