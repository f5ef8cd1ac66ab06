import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { generationConfigLines, readGenerationConfig } from '../../src/rollout/index.js'
import { withDefaults } from '../../src/serve/sampling-fields.js'

const folder = mkdtempSync(join(tmpdir(), 'generation-config-'))
afterAll(() => rmSync(folder, { recursive: true }))

const read = (file: unknown) => {
  writeFileSync(join(folder, 'generation_config.json'), typeof file === 'string' ? file : JSON.stringify(file))
  return readGenerationConfig(folder)
}

test('a directory without the file says nothing', async () => {
  const config = await readGenerationConfig(join(folder, 'nowhere'))
  expect(config).toEqual({ defaults: {}, unsupported: [] })
  expect(generationConfigLines(config)).toEqual([])
})

test('what the file says is taken, and said in one line; what the user gave is not', async () => {
  const config = await read({
    ...{ do_sample: true, temperature: 0.6, top_k: 0, top_p: 0.95, min_p: 0.05 },
    ...{ max_new_tokens: 64, eos_token_id: [1, 2], repetition_penalty: 1 },
  })
  expect(config).toEqual({
    defaults: { temperature: 0.6, topK: -1, topP: 0.95, minP: 0.05, maxNewTokens: 64 },
    unsupported: [],
  })
  expect(generationConfigLines(config, { topP: 0.5, temperature: 1 })).toEqual([
    'From generation_config.json: top_k -1, min_p 0.05, max_new_tokens 64.',
  ])
})

test('do_sample false is greedy; fields that no engine has are named', async () => {
  const config = await read({ do_sample: false, temperature: 0.6, repetition_penalty: 1.1, num_beams: 4 })
  expect(config.defaults).toEqual({ temperature: 0 })
  expect(generationConfigLines(config)).toEqual([
    'From generation_config.json: temperature 0 (greedy).',
    'Not supported, and ignored, of generation_config.json: repetition_penalty 1.1, num_beams 4. Answers may differ from other programs.',
  ])
})

test('a wrong value is named with its file', async () => {
  await expect(read({ temperature: 'hot' })).rejects.toThrow(/temperature should be a number of at least 0, got "hot"/)
  await expect(read('{')).rejects.toThrow(/generation_config\.json: not JSON/)
})

test('fields of a request win over the file', () => {
  const defaults = { temperature: 0.6, topP: 0.9, topK: 20, forbiddenIds: [7] }
  expect(withDefaults({ temperature: 0, top_k: -1, logit_bias: { 7: 0 } }, defaults)).toMatchObject({
    ...{ temperature: 0, top_k: -1, top_p: 0.9, logit_bias: { 7: 0 } },
  })
})
