/** A program that waits for its samples waits for servers that are away, too. */
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startChild } from '../../support/child.js'
import { compiledRoom } from '../../support/compiled.js'
import { toyVocabSize } from '../../support/doubles/toy-model.js'
import { VllmServer } from '../../support/doubles/vllm-server.js'

test('with every server away the process goes on, until the samples have failed', { timeout: 60_000 }, async () => {
  const server = await new VllmServer().start()
  server.engine.msPerToken = 20
  const script = new URL('./children/waits-for-servers.mjs', import.meta.url)
  const child = startChild(script, [compiledRoom('rollout'), server.url, String(toyVocabSize)])
  child.process.stdin.end()
  await child.waitFor(/asked/)
  await delay(100)
  await server.stop()
  expect(await child.ended).toMatchObject({ code: 0, stdout: 'asked\nfailed unreachable\n' })
})
