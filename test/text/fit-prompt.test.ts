import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ChatMessage, encodeTurns, fitPrompt, promptTurns, Tokenizer } from '../../src/text/index.js'
import { llamaStyle, templateFile, tokenizerPath } from '../support/tokenizers.js'

const tokenizer = await Tokenizer.load(tokenizerPath)
const head = '<|im_start|>system\nBe brief.<|im_end|>\n'
const user = '<|im_start|>user\n'
const tail = '<|im_end|>\n<|im_start|>assistant\n'
const system: ChatMessage = { role: 'system', content: 'Be brief.' }
const says = (role: string, content: string): ChatMessage => ({ role, content })
const count = async (text: string): Promise<number> =>
  (await tokenizer.encode(text, { addSpecialTokens: false })).length
const words = (n: number): string => Array.from({ length: n }, (_, i) => `word${i}`).join(' ')

describe('a conversation', () => {
  const messages = [system, says('user', words(40))]

  test.each(['left', 'right'] as const)(
    'loses the %s of what the user says, and nothing of the template',
    async side => {
      const whole = await encodeTurns(messages, tokenizer)
      const limit = whole.length - 30
      const fitted = await fitPrompt(messages, { tokenizer, limit, side })
      expect(fitted).toMatchObject({ kind: 'fits', cut: 30 })
      expect(fitted.ids).toHaveLength(limit)
      const text = await tokenizer.decode(fitted.ids)
      expect(text.startsWith(head + user)).toBe(true)
      expect(text.endsWith(tail)).toBe(true)
      const kept = text.slice((head + user).length, -tail.length)
      expect(side === 'left' ? words(40).endsWith(kept) : words(40).startsWith(kept)).toBe(true)
    },
  )

  test('that fits is as it was', async () => {
    const whole = await encodeTurns(messages, tokenizer)
    const fitted = await fitPrompt(messages, { tokenizer, limit: whole.length, side: 'left' })
    expect(fitted).toEqual({ kind: 'fits', ids: whole, cut: 0 })
  })

  test('is too long where its text would be lost, or where it is not to be cut', async () => {
    const whole = await encodeTurns(messages, tokenizer)
    const frame = await count(head + user + tail)
    expect(await fitPrompt(messages, { tokenizer, limit: frame, side: 'left' })).toEqual({
      kind: 'too-long',
      ids: whole,
    })
    expect((await fitPrompt(messages, { tokenizer, limit: frame + 1, side: 'left' })).kind).toBe('fits')
    expect((await fitPrompt(messages, { tokenizer, limit: whole.length - 1, side: 'reject' })).kind).toBe('too-long')
  })

  test('loses its oldest turns first, and keeps the system message', async () => {
    const turn = (i: number): ChatMessage[] => [says('user', `question ${i}`), says('assistant', `answer ${i}`)]
    const long = [system, ...turn(0), ...turn(1), ...turn(2), says('user', 'the last question')]
    const two = await encodeTurns([system, ...turn(2), says('user', 'the last question')], tokenizer)
    const fitted = await fitPrompt(long, { tokenizer, limit: two.length, side: 'left' })
    expect(fitted.ids).toEqual(two)
    const one = await encodeTurns([system, says('user', 'the last question')], tokenizer)
    expect((await fitPrompt(long, { tokenizer, limit: two.length - 1, side: 'right' })).ids).toEqual(one)
    const cut = await tokenizer.decode((await fitPrompt(long, { tokenizer, limit: one.length - 1, side: 'left' })).ids)
    expect(cut).toMatch(
      /Be brief\.<\|im_end\|>\n<\|im_start\|>user\n.*last question<\|im_end\|>\n<\|im_start\|>assistant\n$/s,
    )
  })

  test('in parts, and one whose template trims', async () => {
    const parts: ChatMessage[] = [{ role: 'user', content: [{ type: 'text', text: words(20) }] }]
    const whole = await encodeTurns(parts, tokenizer)
    const fitted = await fitPrompt(parts, { tokenizer, limit: whole.length - 5, side: 'right' })
    expect(fitted).toMatchObject({ kind: 'fits', cut: 5 })
    const spaced = [says('user', `  ${words(20)}\n`)]
    expect(await fitPrompt(spaced, { tokenizer, limit: whole.length - 5, side: 'left' })).toMatchObject({
      kind: 'fits',
    })
  })

  test('whose template does not write what the user says cannot be cut', async () => {
    const llama = await llamaStyle()
    // Rendered in another form: nothing says which tokens are the user's.
    const silent = await Tokenizer.load(llama.dir, {
      chatTemplate: await templateFile('{{ messages[0].content[0:40] }}'),
    })
    const whole = await encodeTurns([says('user', words(9))], silent)
    const fitted = await fitPrompt([says('user', words(9))], { tokenizer: silent, limit: 4, side: 'left' })
    expect(fitted).toEqual({ kind: 'too-long', ids: whole })
  })
})

test.each(['left', 'right'] as const)('a text keeps its bos: %s', async side => {
  const llama = await llamaStyle()
  const whole = await llama.encodePrompt(words(20))
  const fitted = await fitPrompt(words(20), { tokenizer: llama, limit: 6, side })
  const rest = side === 'left' ? whole.slice(-5) : whole.slice(1, 6)
  expect([...fitted.ids]).toEqual([llama.bosId, ...rest])
  expect([...(await fitPrompt(whole, { tokenizer: llama, limit: 6, side })).ids]).toEqual([...fitted.ids])
  expect((await fitPrompt(words(20), { tokenizer: llama, limit: 1, side })).kind).toBe('too-long')
})

test('whatever is said: what fits is no longer than it may be, and begins and ends as the template does', async () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 })
  await fc.assert(
    fc.asyncProperty(
      text,
      fc.integer({ min: 1, max: 60 }),
      fc.constantFrom('left', 'right'),
      async (said, limit, side) => {
        const turns = promptTurns(said, tokenizer)
        const whole = await encodeTurns(turns, tokenizer)
        const fitted = await fitPrompt(turns, { tokenizer, limit, side: side as 'left' | 'right' })
        if (fitted.kind === 'too-long') {
          expect(fitted.ids).toEqual(whole)
          return
        }
        expect(fitted.ids.length).toBe(Math.min(limit, whole.length))
        expect(fitted.ids.length + fitted.cut).toBe(whole.length)
        const ends = await encodeTurns([says('user', 'x')], tokenizer)
        // The system message of the template and the user's header; the end of the turn and the assistant's header.
        const [first, last] = [ends.indexOf(tokenizer.idOf('<|im_end|>')!) + 3, 5]
        expect(fitted.ids.slice(0, first)).toEqual(whole.slice(0, first))
        expect(fitted.ids.slice(-last)).toEqual(whole.slice(-last))
      },
    ),
    { numRuns: 60 },
  )
})
