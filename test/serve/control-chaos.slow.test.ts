/** Everything at once: whatever clients tell the server and ask it for, each answer is that of the weights it was asked of. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { numbers } from '../support/generation.js'
import { heldMemory } from '../support/held-memory.js'
import {
  type ControlFiles,
  type Controlled,
  controlFiles,
  controlled,
  type Generated,
  length,
  prompt,
} from '../support/serve-control.js'

let files: ControlFiles
let it: Controlled
beforeAll(async () => {
  files = await controlFiles()
  it = await controlled(files)
})
afterAll(async () => {
  await it.close()
})

const tell = (path: string) => it.ask(path, undefined, { method: 'POST' })

test.each([1, 2, 3])('in an order of chance (%d), nothing is lost, mixed up or left behind', async seed => {
  const next = numbers(seed)
  const [a, b] = files.adapters
  const expected: Record<string, number[]> = { tiny: files.model.ids, a: a.ids, b: b.ids }
  const ended = { length: 0, abort: 0, unknown: 0 }
  const generate = async (model: string): Promise<void> => {
    const sampling_params = { temperature: 0, max_tokens: length, ignore_eos: true }
    const { status, text } = await it.ask('/inference/v1/generate', { token_ids: prompt, sampling_params, model })
    if (status === 404) {
      ended.unknown++
      return
    }
    expect(status, text).toBe(200)
    const { token_ids, finish_reason } = (JSON.parse(text) as Generated).choices[0]!
    expect(['length', 'abort']).toContain(finish_reason)
    ended[finish_reason as 'length' | 'abort']++
    if (finish_reason === 'length') expect(token_ids).toHaveLength(length)
    expect(token_ids, model).toEqual(expected[model]!.slice(0, token_ids.length))
  }
  const told = async (asked: Promise<{ status: number; text: string }>): Promise<void> => {
    const { status, text } = await asked
    expect([200, 400, 404, 409], text).toContain(status)
  }
  const adapter = (): 'a' | 'b' => (next(2) === 0 ? 'a' : 'b')
  const reload = { method: 'reload_weights', kwargs: { weights_path: files.model.path } }
  const deeds: (() => Promise<void>)[] = [
    ...Array.from({ length: 30 }, () => () => generate(['tiny', 'a', 'b'][next(3)]!)),
    ...['abort', 'wait', 'keep'].map(mode => () => told(tell(`/pause?mode=${mode}`))),
    ...[
      '/resume',
      '/resume',
      '/resume',
      '/resume',
      '/wake_up',
      '/wake_up',
      '/wake_up?tags=weights',
      '/sleep?mode=keep',
      '/sleep',
    ].map(path => () => told(tell(path))),
    ...Array.from({ length: 3 }, () => () => {
      const name = adapter()
      const lora_path = name === 'a' ? a.path : b.path
      return told(it.ask('/v1/load_lora_adapter', { lora_name: name, lora_path, load_inplace: next(2) === 0 }))
    }),
    () => told(it.ask('/v1/unload_lora_adapter', { lora_name: adapter() })),
    () => told(it.ask('/collective_rpc', reload)),
    () => told(it.ask('/update_weight_version', { new_version: `${next(5)}` })),
    () => told(it.ask('/abort_requests', {})),
  ]
  const clear = async (): Promise<void> => {
    for (const path of ['/wake_up', '/resume']) await tell(path)
    for (const lora_name of ['a', 'b']) await it.ask('/v1/unload_lora_adapter', { lora_name })
    await Promise.all([generate('tiny'), generate('tiny')])
  }
  await clear()
  const before = (await heldMemory()).liveTensors
  const under = new Set<Promise<void>>()
  for (let i = 0; i < 150; i++) {
    const deed = deeds[next(deeds.length)]!()
    const kept = deed.finally(() => under.delete(kept))
    under.add(kept)
    if (next(2) === 0) await new Promise(resolve => setTimeout(resolve, next(20)))
  }
  // Whoever put it to sleep or paused it has gone: someone wakes it until all are answered.
  const all = Promise.all([...under])
  let isOver = false
  void all.finally(() => {
    isOver = true
  })
  while (!isOver) {
    for (const path of ['/wake_up', '/resume']) await tell(path)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  await all
  await clear()
  expect(ended.length + ended.abort).toBeGreaterThan(30)
  expect(it.opened.engine.counts).toMatchObject({ running: 0, waiting: 0 })
  expect((await heldMemory()).liveTensors).toBeLessThanOrEqual(before)
})
