/** The contract of generators over the doubles of servers. */
import { afterEach } from 'vitest'
import type { Generator } from '../../../src/rollout/index.js'
import type { EngineServer } from '../../support/doubles/engine-server.js'
import { writeToyCheckpoint } from '../../support/doubles/toy-checkpoint.js'
import { toyVocabSize } from '../../support/doubles/toy-model.js'
import { generatorContract } from '../generator-contract.js'

export function contractOver(
  name: string,
  servers: () => readonly EngineServer[],
  connect: (options: { urls: readonly string[]; vocabSize: number }) => Promise<Generator>,
): void {
  const open: EngineServer[] = []
  afterEach(async () => {
    for (const server of open.splice(0)) await server.stop()
  })
  const make = async (): Promise<Generator> => {
    const started = await Promise.all(servers().map(server => server.start()))
    open.push(...started)
    // Slow enough for what is under way to be caught in the middle.
    for (const { engine } of started) engine.msPerToken = 1
    return connect({ urls: started.map(({ url }) => url), vocabSize: toyVocabSize })
  }
  generatorContract(name, make, { update: version => ({ version, directory: writeToyCheckpoint(version) }) })
}
