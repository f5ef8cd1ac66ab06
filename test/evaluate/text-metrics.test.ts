import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type BleuOptions, type Compared, corpusBleu, sentenceBleu } from '../../src/evaluate/bleu.js'
import { bleuTokenizerFor } from '../../src/evaluate/bleu-tokenizers.js'
import { meanRougeL, type Rouge, rougeL } from '../../src/evaluate/rouge.js'

type Recorded = ReturnType<typeof corpusBleu> & Required<Pick<BleuOptions, 'orders'>>
interface Fixture {
  versions: Record<string, string>
  cases: { name: string; corpus: Compared[]; bleu: Recorded[]; rouge: Rouge[]; package: Rouge[] }[]
}
const fixture: Fixture = JSON.parse(readFileSync(new URL('../fixtures/text-metrics.json', import.meta.url), 'utf8'))

/** Every number is the recorded one to 1e-9. */
function expectNumbers(found: object, recorded: object): void {
  for (const [name, value] of Object.entries(found)) {
    const wanted = (recorded as Record<string, number | number[]>)[name]!
    const [ours, theirs] = [[value as number | number[]].flat(), [wanted].flat()]
    expect(ours.length, name).toBe(theirs.length)
    for (const [i, one] of ours.entries())
      expect(Math.abs(one - theirs[i]!), `${name}: ${one}, recorded ${theirs[i]}`).toBeLessThanOrEqual(1e-9)
  }
}

test('the fixture says which packages it was recorded from', () => {
  expect(fixture.versions).toEqual({ sacrebleu: '2.6.0', 'rouge-score': '0.1.2' })
  expect(fixture.cases.length).toBeGreaterThan(30)
})

const latin = (text: string): boolean => !/(?!\p{sc=Latin})(?!\p{sc=Common})\p{L}/u.test(text)

describe.each(fixture.cases)('$name', ({ corpus, bleu, rouge, package: packages }) => {
  test.each(bleu)("BLEU is sacrebleu's: $tokenizer, $orders orders", recorded => {
    const { tokenizer, orders } = recorded
    const { tokenizer: used, ...numbers } = corpusBleu(corpus, { tokenizer, orders })
    expect(used).toBe(tokenizer)
    expectNumbers(numbers, recorded)
    if (orders === 'effective' && corpus.length === 1)
      expect(sentenceBleu(corpus[0]!, { tokenizer })).toEqual({ tokenizer: used, ...numbers })
  })

  test("ROUGE-L is rouge-score's", () => {
    for (const [i, text] of corpus.entries()) {
      expectNumbers(rougeL(text), rouge[i]!)
      if ([text.hypothesis, ...text.references].every(latin)) expectNumbers(rougeL(text), packages[i]!)
    }
    const mean = rouge.reduce((sum, one) => sum + one.fmeasure, 0) / rouge.length
    expect(meanRougeL(corpus).fmeasure).toBeCloseTo(mean, 12)
  })
})

test('scores lie between 0 and 100, and a text equal to a reference has the highest', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 40 })
  fc.assert(
    fc.property(text, text, (hypothesis, reference) => {
      const { score } = corpusBleu([{ hypothesis, references: [reference] }])
      expect(score).toBeGreaterThanOrEqual(0)
      expect(score).toBeLessThanOrEqual(100 + 1e-9)
      const { fmeasure } = rougeL({ hypothesis, references: [reference, hypothesis] })
      expect([0, 1]).toContain(fmeasure)
    }),
  )
})

test.each([
  ['13a', ['The cat sat on the mat.', 'It is called 猫.']],
  ['13a', ['Привет, мир!', '한국어 문장입니다.', '12 + 3 = 15']],
  ['13a', []],
  ['zh', ['猫坐在垫子上。', 'GPT 模型 v2.0 在GSM8K上得了85.3分']],
  ['char', ['猫が座っている。']],
  ['char', ['วันนี้อากาศดีมาก']],
] as const)('%s is the tokenizer of %j', (tokenizer, references) => {
  expect(bleuTokenizerFor(references)).toBe(tokenizer)
})

test.each([
  '今天天气很好。',
  '今日はいい天気です。',
  'วันนี้อากาศดีมาก',
  'Сегодня хорошая погода, мой друг.',
  '오늘은 날씨가 아주 좋네요.',
])('%s scores the highest against itself', text => {
  const same = { hypothesis: text, references: [text] }
  expect(corpusBleu([same]).score).toBeCloseTo(100, 9)
  expect(rougeL(same).fmeasure).toBe(1)
  expect(rougeL({ hypothesis: text, references: ['?'] }).fmeasure).toBe(0)
})

test('no texts, and a text without a reference, are errors', () => {
  expect(() => corpusBleu([])).toThrow('BLEU: expected at least one text')
  expect(() => corpusBleu([{ hypothesis: 'a', references: [] }])).toThrow('at least one reference')
  expect(() => meanRougeL([])).toThrow('ROUGE: expected at least one text')
  expect(() => rougeL({ hypothesis: 'a', references: [] })).toThrow('at least one reference')
})
