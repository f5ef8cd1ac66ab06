/**
 * Reward models whose padding also ends texts (pad = eos): scores are those of transformers, for models that were trained here and
 * exported, and for models that TRL made. test/fixtures/make-reward-models.py writes the models and transformers' scores.
 */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { separatePadding } from '../../src/model/export-padding.js'
import { LocalModel } from '../../src/model/index.js'
import { decodeRewardInput, modelReward } from '../../src/reward/index.js'
import { type ChatMessage, Tokenizer } from '../../src/text/index.js'
import { answered } from '../support/answered.js'
import { fixture, readCase, temporary } from '../support/models.js'

interface Case {
  conversations: ChatMessage[][]
  sequences: number[][]
  scores: number[]
  batches: { right: number[]; left: number[] }
  padToken: string
  padTokenId: number
}
const json = (...path: string[]) => JSON.parse(readFileSync(join(...path), 'utf8')) as Record<string, unknown>

async function scoresOf(directory: string, sequences: readonly number[][], packing: 'on' | 'off' = 'on') {
  const model = await LocalModel.load(directory, { role: 'reward' })
  const outputs = await model.score(
    sequences.map(ids => Int32Array.from(ids)),
    { packing },
  )
  model.dispose()
  return outputs.map(({ score }) => score)
}

function expectClose(found: readonly number[], wanted: readonly number[]): void {
  expect(found.length).toBe(wanted.length)
  for (const [i, score] of found.entries()) expect(Math.abs(score - wanted[i]!), `${i}: ${score}`).toBeLessThan(1e-4)
}

describe.each(['eos-pad-exported', 'eos-pad-trl'])('%s', name => {
  const recorded = readCase<Case>(name)

  test.each(['on', 'off'] as const)(
    'scores are those of transformers, alone and in batches, packing %s',
    async packing => {
      const scores = await scoresOf(fixture(name), recorded.sequences, packing)
      expectClose(scores, recorded.scores)
      expectClose(scores, recorded.batches.right)
      expectClose(scores, recorded.batches.left)
    },
  )

  test.each(['exact', 'rendered'])(
    'a reward source gives a conversation the score of transformers: ids %s',
    async how => {
      const tokenizer = await Tokenizer.load(fixture(name))
      const model = await LocalModel.load(fixture(name), { role: 'reward' })
      const shared = how === 'exact' ? { policyTokenizer: await Tokenizer.load(fixture('eos-pad')) } : {}
      const source = modelReward({ name: 'quality', model, tokenizer, ...shared })
      const inputs = await Promise.all(
        recorded.conversations.map(async conversation => {
          const messages = conversation.slice(0, -1)
          // As a policy samples it: up to the end of the turn.
          const { prompt: promptIds, answer: responseIds } = await tokenizer.encodeAnswer(
            messages,
            conversation.slice(-1),
          )
          return decodeRewardInput(tokenizer, {
            messages,
            sequence: answered(promptIds, responseIds),
            finishReason: 'stop',
            sample: 0,
          })
        }),
      )
      const answers = await source.score(inputs, { signal: new AbortController().signal })
      model.dispose()
      expectClose(answers as number[], recorded.scores.slice(0, inputs.length))
    },
  )
})

describe('an export', () => {
  const exported = () => temporary('exported')
  const { sequences } = readCase<Case>('eos-pad-exported')
  let before: number[] = []
  beforeAll(async () => {
    const model = await LocalModel.load(fixture('eos-pad'), { role: 'reward', seed: 4 })
    before = (await model.score(sequences.map(ids => Int32Array.from(ids)))).map(({ score }) => score)
    await model.export(exported(), { what: 'model' })
    model.dispose()
  })

  test('has the padding of the model that transformers scored, and the tokenizer as it was', () => {
    const { padToken, padTokenId } = readCase<Case>('eos-pad-exported')
    for (const file of ['config.json', 'tokenizer_config.json', 'generation_config.json', 'tokenizer.json'])
      expect(readFileSync(join(exported(), file), 'utf8'), file).toBe(
        readFileSync(join(fixture('eos-pad-exported'), file), 'utf8'),
      )
    expect(json(exported(), 'config.json').pad_token_id).toBe(padTokenId)
    expect(json(exported(), 'tokenizer_config.json').pad_token).toBe(padToken)
    expect(padTokenId).not.toBe(json(fixture('eos-pad'), 'config.json').eos_token_id)
    expect(readFileSync(join(exported(), 'tokenizer.json'))).toEqual(
      readFileSync(join(fixture('eos-pad'), 'tokenizer.json')),
    )
  })

  test('scores as the model did, at the last token of every sequence', async () => {
    expectClose(await scoresOf(exported(), sequences), before)
    const ended = [
      [7, 9, 11, 2],
      [7, 9, 11, 2, 2],
    ]
    const [one, two] = await scoresOf(exported(), ended)
    expect(one).not.toBeCloseTo(two!, 3)
  })

  test('of a model that TRL made keeps its padding and its scores', async () => {
    const model = await LocalModel.load(fixture('eos-pad-trl'), { role: 'reward' })
    await model.export(temporary('again'), { what: 'model' })
    model.dispose()
    expect(json(temporary('again'), 'config.json').pad_token_id).toBe(2)
    const recorded = readCase<Case>('eos-pad-trl')
    expectClose(await scoresOf(temporary('again'), recorded.sequences), recorded.scores)
  })

  test('of a language model changes no padding', async () => {
    const model = await LocalModel.load(fixture('eos-pad'), { role: 'language' })
    await model.export(temporary('language'), { what: 'model' })
    model.dispose()
    expect(json(temporary('language'), 'config.json').pad_token_id).toBe(2)
    expect(json(temporary('language'), 'tokenizer_config.json').pad_token).toBe('<|im_end|>')
  })
})

describe('an adapter on a language model whose padding ends texts', () => {
  const ended = [[7, 9, 11, 2]]

  test('made here is asked at the last token, made by PEFT at the last that is not padding', async () => {
    const adapter = { rank: 2, alpha: 4, dropout: 0, targets: ['q_proj'] as const, seed: 3 }
    const model = await LocalModel.load(fixture('eos-pad'), { role: 'reward', seed: 4, adapter })
    const all = [...ended, [7, 9, 11]].map(ids => Int32Array.from(ids))
    const [whole, shorter] = (await model.score(all)).map(({ score }) => score)
    await model.export(temporary('adapter'), { what: 'adapter' })
    model.dispose()
    const scored = async () => {
      const read = await LocalModel.load(fixture('eos-pad'), { role: 'reward', adapter: temporary('adapter') })
      const [{ score }] = (await read.score(all.slice(0, 1))) as [{ score: number }]
      read.dispose()
      return score
    }
    expect(await scored()).toBeCloseTo(whole!, 5)
    const path = join(temporary('adapter'), 'adapter_config.json')
    writeFileSync(path, JSON.stringify({ ...json(path), peft_version: '0.21.0' }))
    expect(await scored()).toBeCloseTo(shorter!, 5)
    expect(Math.abs(whole! - shorter!)).toBeGreaterThan(0.01)
  })
})

describe('the padding of an exported reward model', () => {
  const special = (...contents: string[]) => ({
    added_tokens: contents.map((content, id) => ({ id, content, special: true })),
    model: { vocab: { a: 7, b: 8 } },
  })
  const cases: [
    string,
    { config: object; tokenizer?: object; settings?: object; template?: string; more?: object },
    unknown,
    unknown,
  ][] = [
    [
      'is the one there is where it ends no text',
      {
        config: { eos_token_id: 1, pad_token_id: 0 },
        tokenizer: special('<pad>', '</s>'),
        settings: { pad_token: '<pad>', eos_token: '</s>' },
      },
      0,
      '<pad>',
    ],
    [
      "is the tokenizer's where the config has another",
      {
        config: { eos_token_id: 1, pad_token_id: 1 },
        tokenizer: special('<pad>', '</s>'),
        settings: { pad_token: '<pad>', eos_token: '</s>' },
      },
      0,
      '<pad>',
    ],
    [
      'is a token for padding, where there was none',
      {
        config: { eos_token_id: [1, 2] },
        tokenizer: special(
          '<|begin_of_text|>',
          '<|end_of_text|>',
          '<|eot_id|>',
          '<|reserved_special_token_0|>',
          '<|finetune_right_pad_id|>',
        ),
        settings: { bos_token: '<|begin_of_text|>', eos_token: '<|eot_id|>' },
      },
      4,
      '<|finetune_right_pad_id|>',
    ],
    [
      'is a reserved token where none is for padding, and none that the template writes',
      {
        config: { eos_token_id: 1, pad_token_id: 1 },
        tokenizer: special('<s>', '</s>', '<|reserved_end|>', '<|reserved_1|>'),
        settings: { eos_token: { content: '</s>' }, pad_token: { content: '</s>', lstrip: false } },
        template: "{{ '<|reserved_end|>' }}",
      },
      3,
      '<|reserved_1|>',
    ],
    [
      'is the beginning of sequence where there is nothing else',
      {
        config: { eos_token_id: 1, pad_token_id: 1 },
        tokenizer: special('<s>', '</s>'),
        settings: { bos_token: '<s>', eos_token: '</s>', pad_token: '</s>' },
        template: '<s>',
      },
      0,
      '<s>',
    ],
    [
      'is none where every token may end a text',
      {
        config: { eos_token_id: 1, pad_token_id: 1 },
        tokenizer: special('x', '</s>'),
        settings: { eos_token: '</s>', pad_token: '</s>', bos_token: '</s>' },
      },
      null,
      '</s>',
    ],
    [
      'is not a stop of the generation config, nor beyond the embedding',
      {
        config: { eos_token_id: 1, pad_token_id: 2 },
        tokenizer: special('<unused0>', '</s>', '<|endoftext|>', '', '', '', '', '', '', '<pad>'),
        settings: { eos_token: '</s>', pad_token: '<|endoftext|>' },
        more: {
          'generation_config.json': { eos_token_id: [1, 2], pad_token_id: 2 },
          'special_tokens_map.json': { pad_token: '<|endoftext|>' },
        },
      },
      0,
      '<unused0>',
    ],
    ['of a model without a tokenizer stays', { config: { eos_token_id: 2, pad_token_id: 0 } }, 0, undefined],
    [
      'of a model without a tokenizer is its beginning of sequence',
      { config: { eos_token_id: 2, pad_token_id: 2, bos_token_id: 1 } },
      1,
      undefined,
    ],
    ['of a model that says nothing is none', { config: {} }, null, undefined],
  ]

  test.each(cases)('%s', async (name, { config, tokenizer, settings, template, more = {} }, id, token) => {
    const directory = temporary(name.replaceAll(' ', '-'))
    mkdirSync(directory)
    const write = (file: string, value: object) => writeFileSync(join(directory, file), JSON.stringify(value))
    if (tokenizer) write('tokenizer.json', tokenizer)
    if (settings) write('tokenizer_config.json', settings)
    if (template !== undefined) writeFileSync(join(directory, 'chat_template.jinja'), template)
    for (const [file, value] of Object.entries(more)) write(file, value as object)
    expect(await separatePadding(directory, { vocab_size: 9, ...config })).toBe(id)
    if (settings) expect(json(directory, 'tokenizer_config.json')).toEqual({ ...settings, pad_token: token })
    for (const file of Object.keys(more)) {
      const { pad_token, pad_token_id } = json(directory, file)
      expect(pad_token ?? pad_token_id).toBe(file === 'generation_config.json' ? id : token)
    }
  })

  test('is written into a tokenizer that has no config', async () => {
    const directory = temporary('bare')
    mkdirSync(directory)
    cpSync(join(fixture('eos-pad'), 'tokenizer.json'), join(directory, 'tokenizer.json'))
    expect(await separatePadding(directory, { vocab_size: 259, eos_token_id: 2, pad_token_id: 0 })).toBe(0)
    expect(json(directory, 'tokenizer_config.json')).toEqual({ pad_token: '<|endoftext|>' })
  })
})
