import { describe, expect, it } from 'vitest'
import { dataFolder, epochOf, plainTokenizer, tokenizer } from '../support/data.js'
import { exampleReader } from '../support/examples.js'

const files = dataFolder()
const { jsonl, open, write } = files
const examplesOf = exampleReader(files)

describe('prompts', () => {
  it('are objects or bare lines, user turns where there is a template, with every column for the rewards', async () => {
    const rows = [
      { prompt: 'Hi', reference: 4, level: 2 },
      'bare',
      { messages: [{ role: 'user', content: 'x' }], label: 'l' },
    ]
    const examples = await examplesOf('prompts', rows, { systemPrompt: 'S' })
    const system = { role: 'system', content: 'S' }
    const turn = (content: string) => [system, { role: 'user', content }]
    expect(examples).toMatchObject(
      [
        { prompt: turn('Hi'), target: '4', row: { prompt: 'Hi', reference: 4, level: 2 }, where: '0.jsonl:1' },
        { prompt: turn('bare'), row: { prompt: 'bare' } },
        { prompt: turn('x'), label: 'l' },
      ].map(one => ({ ...one, where: expect.any(String), promptId: expect.stringMatching(/^[0-9a-f]{16}$/) })),
    )
  })

  it('are the lines of a text file; they stay texts where no template is wanted', async () => {
    const path = write('lines.txt', '\uFEFFone\r\n\r\ntwo {"x"}\n')
    const dataset = await open('prompts', path, { chatTemplate: 'none', shuffle: false, promptTemplate: '{prompt}!' })
    expect(await epochOf(dataset.train(tokenizer))).toMatchObject([
      { prompt: 'one!', where: 'lines.txt:1' },
      { prompt: 'two {"x"}!', where: 'lines.txt:3' },
    ])
    expect(await (await open('prompts', path)).train(plainTokenizer).take(1)).toMatchObject([
      { prompt: expect.any(String) },
    ])
  })

  it('that are too long are dropped where a length is given', async () => {
    const stream = (
      await open('prompts', jsonl('long-prompt.jsonl', ['word '.repeat(50), 'Hi']), { maxLength: 20 })
    ).train(tokenizer)
    expect(await epochOf(stream)).toHaveLength(1)
    expect(stream.counts.dropped).toEqual({ overlong: 1 })
  })
})
