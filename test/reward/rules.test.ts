import { describe, expect, it } from 'vitest'
import {
  exactMatch,
  format,
  jsonSchema,
  length,
  numericAnswer,
  pattern,
  type RewardInput,
  type RewardSource,
  sameAnswer,
  wordList,
} from '../../src/reward/index.js'
import { lastNumber } from '../../src/reward/rules/extract-answer.js'
import { answered } from '../support/answered.js'
import { sample } from '../support/reward-samples.js'

const { signal } = new AbortController()
const score = async (rule: RewardSource, response: string, more: Partial<RewardInput> = {}) => {
  const [answer] = Array.from(await rule.score([sample(response, more)], { signal }))
  if (typeof answer !== 'object') return answer
  return 'reward' in answer ? answer.reward : answer.reason
}

describe('numeric answer', () => {
  it.each<[response: string, target: string, reward: number]>([
    ['so 6 * 7 = 42\n#### 42', '42', 1],
    ['#### 42', 'six times seven\n#### 42', 1],
    ['#### 1,234', '1234', 1],
    ['#### $1,234.00', '1234', 1],
    ['#### 42 apples', '42', 0],
    ['#### 7 dollars', '7', 1],
    ['#### 41', '42', 0],
    ['#### ', '42', 0],
    ['the answer is 42', '42', 0],
    ['first #### 1 then\n#### 42', '42', 1],
    ['\\boxed{42}', '42', 1],
    ['\\boxed{41} no, \\boxed{42}', '42', 1],
    ['\\boxed{42} no, \\boxed{41}', '42', 0],
    ['\\boxed{42', '42', 0],
    ['\\boxed{\\frac{1}{2}}', '\\frac12', 1],
    ['\\boxed{\\text{(A)}}', '(A)', 1],
    ['<answer>42</answer>', '42', 1],
    ['<answer>x</answer> <answer> 42 </answer>', '42', 1],
    ['\\boxed{5}\n#### 6', '5', 1],
  ])('%j against %j is %d', async (response, target, reward) => {
    expect(await score(numericAnswer(), response, { target })).toBe(reward)
  })

  it('grades the response, not the example in the prompt', async () => {
    const prompt = 'Answer as \\boxed{42}, or #### 42.'
    const more = { prompt, promptRaw: prompt, query: `${prompt}no idea`, target: '42' }
    expect(await score(numericAnswer(), 'no idea', more)).toBe(0)
  })

  it('without a target fails, which is not a wrong answer', async () => {
    expect(await score(numericAnswer(), '#### 1')).toBe('input')
    expect(await score(numericAnswer(), '#### 1', { target: [] })).toBe('input')
  })

  it('takes any of several targets, and looks where it is told to', async () => {
    expect(await score(numericAnswer(), '#### 2', { target: ['1', '2'] })).toBe(1)
    const last = numericAnswer({ answer: ['last-number'] })
    expect(await score(last, 'we get 3, so it is 42.', { target: '42' })).toBe(1)
  })

  it.each([
    ['from 3 to -4.5', '-4.5'],
    ['1,234,567 of them', '1,234,567'],
    ['v1.2 and 3/4', '3/4'],
    ['1.5e3', '1.5e3'],
    ['.5', '.5'],
    ['none', undefined],
  ])('the last number of %j is %j', (text, found) => {
    expect(lastNumber(text)).toBe(found)
  })
})

describe('the same answer', () => {
  it.each<[string, string]>([
    ['\\frac{1}{2}', '\\dfrac{1}{2}'],
    ['\\frac12', '\\frac{1}{2}'],
    ['\\frac1{2}', '\\frac{1}{2}'],
    ['1/2', '\\frac{1}{2}'],
    ['0.5', '\\frac{1}{2}'],
    ['.5', '0.5'],
    ['\\sqrt3', '\\sqrt{3}'],
    ['90^\\circ', '90'],
    ['90^{\\circ}', '90'],
    ['45°', '45'],
    ['50\\%', '50'],
    ['\\$5', '5'],
    ['x = 5', '5'],
    ['\\text{five}', 'five'],
    ['5\\text{ cm}', '5'],
    ['5 cm', '5'],
    ['12 square feet', '12'],
    ['10,000', '10000'],
    ['10{,}000', '10000'],
    ['10,\\!000', '10000'],
    ['2.0', '2'],
    ['3 million', '3000000'],
    ['2.5 million', '2500000'],
    ['7 3/4', '7\\frac{3}{4}'],
    ['7 3/4', '7.75'],
    ['1.50', '1.5'],
    ['-0.25', '-.25'],
    ['(1, 2)', '(1,2)'],
    ['(1.0, \\frac{1}{2})', '(1, 0.5)'],
    ['[0, \\infty)', '[0,\\infty)'],
    ['1 or 2', '1, 2'],
    ['1 and 2', '1 or 2'],
    ['\\left(1,2\\right)', '(1,2)'],
    ['{5}', '5'],
    ['Yes', 'yes'],
    ['2\\pi', '2 \\pi'],
  ])('%j is %j', (a, b) => {
    expect(sameAnswer(a, b)).toBe(true)
    expect(sameAnswer(b, a)).toBe(true)
  })

  it.each<[string, string]>([
    ['2/4', '1/2'],
    ['(1,2)', '[1,2]'],
    ['(1,2)', '(2,1)'],
    ['(1,2)', '(1,2,3)'],
    ['1', '1.5'],
    ['0.333', '1/3'],
    ['12', '1,2'],
    ['', ''],
    ['7 3/4', '73/4'],
    ['-5', '5'],
    ['x(x+1)', 'x^2+x'],
  ])('%j is not %j', (a, b) => {
    expect(sameAnswer(a, b)).toBe(false)
  })

  it('is decided quickly, whatever a model writes', () => {
    const started = performance.now()
    for (const text of ['1'.repeat(1e5), '{'.repeat(1e5), '\\frac'.repeat(2e4), '1,'.repeat(5e4), ' '.repeat(1e5)])
      sameAnswer(text, '5')
    // Quadratic work on such texts would take minutes.
    expect(performance.now() - started).toBeLessThan(3000)
  })

  it('is decided without evaluating anything', () => {
    expect(sameAnswer("__import__('os').system('true')", '0')).toBe(false)
    expect(sameAnswer('9**9**9**9', '1')).toBe(false)
  })
})

describe('format', () => {
  it.each<[string, number]>([
    ['<think>hm</think><answer>4</answer>', 1],
    ['<think>hm</think> so <answer>4</answer>.', 1],
    ['<answer>4</answer><think>hm</think>', 0],
    ['<think>hm<answer>4</answer></think>', 0],
    ['<think>hm</think>', 0],
    ['<think>a</think><think>b</think><answer>4</answer>', 0],
    ['<think>hm</think><answer>4', 0],
    ['4', 0],
    ['', 0],
  ])('%j is %d', async (response, reward) => {
    expect(await score(format(), response)).toBe(reward)
  })

  it("does not see the prompt's own tags", async () => {
    const prompt = 'Write <think>...</think><answer>...</answer>'
    expect(await score(format(), '4', { prompt, promptRaw: prompt, query: `${prompt}4` })).toBe(0)
  })

  it.each<[string, number]>([
    ['<think>hm</think> \\boxed{4}', 1],
    ['\\boxed{4} <think>hm</think>', 0],
    ['<think>\\boxed{3}</think> \\boxed{4}', 0],
    ['<think>hm</think> 4', 0],
  ])('thinking, then a box: %j is %d', async (response, reward) => {
    expect(await score(format({ tags: ['think'], ending: 'boxed' }), response)).toBe(reward)
  })

  it('has options for text outside, for templates that open a tag, and for tags that are special tokens', async () => {
    const whole = '<think>a</think>\n<answer>b</answer>\n'
    expect(await score(format({ outside: 'forbidden' }), whole)).toBe(1)
    expect(await score(format({ outside: 'forbidden' }), `${whole}bye`)).toBe(0)
    expect(await score(format({ openedByPrompt: 'think' }), 'a</think><answer>b</answer>')).toBe(1)
    expect(await score(format({ on: 'raw' }), 'ab', { responseRaw: '<think>a</think><answer>b</answer>' })).toBe(1)
    expect(() => format({ tags: ['<think>'] })).toThrow(/without brackets/)
    expect(() => format({ tags: [] })).toThrow(/tags is empty/)
  })
})

describe('exact match', () => {
  it.each<[Parameters<typeof exactMatch>[0], string, string, number]>([
    [{}, ' Paris\n', 'Paris', 1],
    [{}, 'paris', 'Paris', 0],
    [{ letterCase: 'insensitive' }, 'paris', 'Paris', 1],
    [{}, 'New   York', 'New York', 1],
    [{}, 'It is Paris', 'Paris', 0],
    [{ answer: 'answer-tag' }, 'so <answer>Paris</answer>', 'Paris', 1],
    [{ answer: 'answer-tag' }, 'Paris', 'Paris', 0],
    [{ answer: 'boxed' }, 'so \\boxed{B}', 'B', 1],
  ])('%j: %j against %j is %d', async (options, response, target, reward) => {
    expect(await score(exactMatch(options), response, { target })).toBe(reward)
  })
})

describe('length', () => {
  it.each<[Parameters<typeof length>[0], string, number]>([
    [{ unit: 'characters', max: 3 }, 'abc', 1],
    [{ unit: 'characters', max: 3 }, 'abcd', 0],
    [{ unit: 'characters', max: 2, falloff: 4 }, 'abc', 0.75],
    [{ unit: 'characters', max: 2, falloff: 4 }, 'abcdefgh', 0],
    [{ unit: 'characters', min: 4, falloff: 4 }, 'abc', 0.75],
    [{ unit: 'characters', max: 1 }, '🙂', 1],
    [{ unit: 'words', min: 2, max: 2 }, ' a  b ', 1],
  ])('%j of %j is %d', async (options, response, reward) => {
    expect(await score(length(options), response)).toBe(reward)
  })

  it('in tokens counts the ids, and fails where there are none', async () => {
    expect(await score(length({ max: 2 }), 'abc', { sequence: answered(new Int32Array(0), Int32Array.of(1, 2)) })).toBe(
      1,
    )
    expect(await score(length({ max: 2 }), '')).toBe(1)
    expect(await score(length({ max: 2 }), 'abc')).toBe('input')
    expect(() => length()).toThrow(/expected min, max or both/)
    expect(() => length({ min: 3, max: 2 })).toThrow(/0 <= min <= max/)
  })
})

describe('pattern', () => {
  it('matches a part or the whole, the same for every sample', async () => {
    const digits = pattern({ pattern: '\\d+', flags: 'gu' })
    expect(await score(digits, 'a1')).toBe(1)
    expect(await score(digits, 'a1')).toBe(1)
    expect(await score(digits, 'a')).toBe(0)
    expect(await score(pattern({ pattern: '\\d+|x', match: 'whole' }), '12')).toBe(1)
    expect(await score(pattern({ pattern: '\\d+|x', match: 'whole' }), '12x')).toBe(0)
    expect(() => pattern({ pattern: '(' })).toThrow(/rule pattern: pattern: /)
  })
})

describe('JSON schema', () => {
  const rule = jsonSchema({
    schema: { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'], additionalProperties: false },
  })
  it.each<[string, number]>([
    ['{"a":1}', 1],
    [' {"a":1}\n', 1],
    ['Here:\n```json\n{"a":1}\n```', 1],
    ['```\n{"a":1}\n```', 1],
    ['```json\n{"a":1}\n```\n```json\n{"a":2}\n```', 0],
    ['{"a":1.5}', 0],
    ['{"a":1,"b":2}', 0],
    ['{}', 0],
    ['{"a":1', 0],
    ['no', 0],
  ])('%j is %d', async (response, reward) => {
    expect(await score(rule, response)).toBe(reward)
  })

  it('that cannot be read is refused', () => {
    expect(() => jsonSchema({ schema: { $ref: '#/nowhere' } })).toThrow(/rule json-schema: schema: /)
  })
})

describe('word list', () => {
  it.each<[string, number]>([
    ['all is well', 0],
    ['what a Badword!', -1],
    ['badwords are other words', 0],
    ['ｂａｄｗｏｒｄ', -1],
    ['bad\u00adword', -1],
    ['a   nasty\nphrase', -1],
    ['c++ is fine, C+ too', -1],
    ['ÉCLAIR', -1],
  ])('%j is %d', async (response, reward) => {
    expect(await score(wordList({ words: ['badword', 'nasty phrase', 'C++', 'éclair'] }), response)).toBe(reward)
  })

  it.each<[string, number]>([
    ['怎么做炸弹？', -1],
    ['怎么炸东西', 0],
    ['这是badword吗', -1],
    ['これは爆弾です', -1],
    ['バカだ', -1],
    ['ทำระเบิดยังไง', -1],
    // Another tone mark makes it another word.
    ['ดี่', 0],
    ['ดีมาก', -1],
    ['폭탄을 만들다', 0],
    ['폭탄 만들기', -1],
    ['ＡＶ女優', -1],
    ['savage', 0],
    // A vowel sign goes on with the word, as a letter does.
    ['काम', 0],
    ['क है', -1],
  ])('in scripts without spaces words are found anywhere: %j is %d', async (response, reward) => {
    const words = ['炸弹', '爆弾', 'バカ', 'ระเบิด', 'ดี', '폭탄', 'badword', 'AV', 'क']
    expect(await score(wordList({ words }), response)).toBe(reward)
  })

  it('has a penalty of its own, and is not empty', async () => {
    expect(await score(wordList({ words: ['x'], penalty: -5, clean: 1 }), 'x')).toBe(-5)
    expect(await score(wordList({ words: ['x'], penalty: -5, clean: 1 }), 'y')).toBe(1)
    expect(() => wordList({ words: [' '] })).toThrow(/words is empty/)
  })
})
