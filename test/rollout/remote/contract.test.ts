/** Engines behind a network keep the contract of generators, over the doubles of both servers and each way they can be started. */
import { afterEach } from 'vitest'
import { connectSglang, connectVllm, type Generator } from '../../../src/rollout/index.js'
import type { EngineServer } from '../../support/doubles/engine-server.js'
import { SglangServer } from '../../support/doubles/sglang-server.js'
import { writeToyCheckpoint } from '../../support/doubles/toy-checkpoint.js'
import { toyVocabSize } from '../../support/doubles/toy-model.js'
import { VllmServer } from '../../support/doubles/vllm-server.js'
import { generatorContract } from '../generator-contract.js'

const open: EngineServer[] = []
afterEach(async () => {
  for (const server of open.splice(0)) await server.stop()
})

function contractOver(
  name: string,
  servers: () => readonly EngineServer[],
  connect: (options: { urls: readonly string[]; vocabSize: number }) => Promise<Generator>,
): void {
  const make = async (): Promise<Generator> => {
    const started = await Promise.all(servers().map(server => server.start()))
    open.push(...started)
    // Slow enough for what is under way to be caught in the middle.
    for (const { engine } of started) engine.msPerToken = 1
    return connect({ urls: started.map(({ url }) => url), vocabSize: toyVocabSize })
  }
  generatorContract(name, make, { update: version => ({ version, directory: writeToyCheckpoint(version) }) })
}

contractOver('vLLM', () => [new VllmServer()], connectVllm)
contractOver(
  'vLLM without --enable-scale-out',
  () => [new VllmServer({ without: ['scale-out'], logprobs: 'processed' })],
  connectVllm,
)
contractOver('two vLLM servers', () => [new VllmServer(), new VllmServer()], connectVllm)

const deterministic = ['enable-deterministic-inference', 'enable-memory-saver'] as const
contractOver('SGLang', () => [new SglangServer({ flags: deterministic })], connectSglang)
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
