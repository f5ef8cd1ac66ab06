import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { Tokenizer as Library } from 'tokenizers'
import { beforeAll, describe, expect, test } from 'vitest'
import { main } from '../../src/cli/main.js'
import { help } from '../../src/cli/tokenizer.js'
import { type BpeModel, learnBpe } from '../../src/text/bpe.js'
import { BYTE_CHARACTERS, toByteCharacters } from '../../src/text/byte-level.js'
import { SPLIT_REGEX } from '../../src/text/chatml.js'
import { Tokenizer, trainTokenizer } from '../../src/text/index.js'
import { capturedOutput } from '../support/cli.js'
import { temporaryDirectory } from '../support/files.js'
import { golden } from '../support/tokenizers.js'

const TEXT = golden.encode.map(row => row.text).join('\n\n')
const NAMES = ['chat_template.jinja', 'tokenizer.json', 'tokenizer_config.json']

function learn(words: Record<string, number>, vocabSize: number, minFrequency = 1): BpeModel {
  const alphabet = [...new Set(Object.keys(words).join(''))].sort()
  const work = learnBpe(new Map(Object.entries(words)), alphabet, { vocabSize, minFrequency })
  for (let step = work.next(); ; step = work.next()) if (step.done) return step.value
}

/** BPE as one would explain it: count every pair of every word anew before each merge. */
function learnSlowly(words: Record<string, number>, vocabSize: number, minFrequency: number): string[][] {
  let split = Object.entries(words).map(([word, count]) => ({ symbols: [...word], count }))
  const tokens = new Set(split.flatMap(({ symbols }) => symbols))
  const merges: string[][] = []
  while (tokens.size < vocabSize) {
    const counts = new Map<string, number>()
    for (const { symbols, count } of split) {
      for (let i = 0; i + 1 < symbols.length; i++) {
        const pair = JSON.stringify([symbols[i], symbols[i + 1]])
        counts.set(pair, (counts.get(pair) ?? 0) + count)
      }
    }
    const best = [...counts].sort(([a, x], [b, y]) => {
      const [left, right] = [JSON.parse(a) as string[], JSON.parse(b) as string[]]
      return y - x || (left[0] === right[0] ? (left[1]! < right[1]! ? -1 : 1) : left[0]! < right[0]! ? -1 : 1)
    })[0]
    if (!best || best[1] < minFrequency) break
    const [left, right] = JSON.parse(best[0]) as [string, string]
    merges.push([left, right])
    tokens.add(left + right)
    split = split.map(({ symbols, count }) => {
      const merged: string[] = []
      for (let i = 0; i < symbols.length; i++) {
        if (symbols[i] === left && symbols[i + 1] === right) {
          merged.push(left + right)
          i++
        } else merged.push(symbols[i]!)
      }
      return { symbols: merged, count }
    })
  }
  return merges
}

describe('learnBpe', () => {
  test('the most frequent pair first, ties in lexical order', () => {
    const { merges, tokens } = learn({ abab: 2, cd: 4, bd: 4 }, 7)
    expect(merges).toEqual([
      ['a', 'b'],
      ['b', 'd'],
      ['c', 'd'],
    ])
    expect(tokens).toEqual(['a', 'b', 'c', 'd', 'ab', 'bd', 'cd'])
  })

  test('equal to counting everything anew', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 9 })
    fc.assert(
      fc.property(
        fc.dictionary(word, fc.integer({ min: 1, max: 5 }), { minKeys: 1 }),
        fc.integer({ min: 1, max: 3 }),
        (words, least) => {
          expect(learn(words, 20, least).merges).toEqual(learnSlowly(words, 20, least))
        },
      ),
      { numRuns: 300 },
    )
  })
})

test('text is split for counting where the library splits it', async () => {
  const out = join(temporaryDirectory(), 'tokenizer')
  await trainTokenizer({ files: [await corpus('a.txt', 'x')], vocabSize: 259, out })
  const library = Library.fromFile(join(out, 'tokenizer.json')).getPreTokenizer()!
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ unit: 'grapheme' }), fc.stringMatching(/^(?:\w| |\n|\r|'s|'LL|\.|,|é|日){0,30}$/)),
      text => {
        fc.pre(!/[\x85\uFEFF]/.test(text))
        const ours = (text.match(SPLIT_REGEX) ?? []).map(toByteCharacters)
        expect(ours).toEqual(library.preTokenizeString(text).map(([piece]) => piece))
      },
    ),
    { numRuns: 300 },
  )
  expect(new Set(BYTE_CHARACTERS).size).toBe(256)
})

/** A word of 32 letters; the same for the same number. */
function randomWord(n: number): string {
  return createHash('md5')
    .update(String(n))
    .digest('hex')
    .replace(/[0-9]/g, digit => 'ghijklmnop'[Number(digit)]!)
}

async function corpus(name: string, content: string | Uint8Array): Promise<string> {
  const file = join(temporaryDirectory(), name)
  await writeFile(file, content)
  return file
}

describe('trainTokenizer', () => {
  let dir: string
  let tokenizer: Tokenizer
  beforeAll(async () => {
    dir = join(temporaryDirectory(), 'deep', 'tokenizer')
    const trained = await trainTokenizer({ files: [await corpus('a.txt', TEXT)], vocabSize: 600, out: dir })
    expect(trained).toEqual({ dir, vocabSize: 600, characters: TEXT.length })
    tokenizer = await Tokenizer.load(dir)
  })

  test('makes a directory our loader takes, and leaves nothing beside it', async () => {
    expect((await readdir(dir)).sort()).toEqual(NAMES)
    expect(await readdir(dirname(dir))).toEqual(['tokenizer'])
    expect(tokenizer.vocabSize).toBe(600)
    expect([tokenizer.bosId, tokenizer.eosId, tokenizer.padId]).toEqual([undefined, 2, 0])
    expect([...tokenizer.specialIds].sort()).toEqual([0, 1, 2])
    expect(tokenizer.idOf('<|im_start|>')).toBe(1)
    const ids = await tokenizer.encode(TEXT)
    expect(ids.length).toBeLessThan(Buffer.byteLength(TEXT) * 0.6)
  })

  test('decodes what it encoded, whatever it is', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 40 }), async text => {
        expect(await tokenizer.decode(await tokenizer.encode(text))).toBe(text)
      }),
    )
  })

  test('a conversation, and what the assistant wrote of it', async () => {
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello 😀' },
    ]
    const text = '<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n'
    expect(tokenizer.renderChat(messages.slice(0, 2), { addGenerationPrompt: true })).toBe(text)
    expect(tokenizer.renderChat(messages)).toBe(`${text}Hello 😀<|im_end|>\n`)
    const { ids, assistantMask } = await tokenizer.encodeConversation(messages)
    expect(await tokenizer.decode(ids.filter((_, i) => assistantMask[i] === 1))).toBe('Hello 😀<|im_end|>')
  })

  test('the same text gives the same files, in whatever order and format it comes', async () => {
    const [one, two] = [TEXT.slice(0, 3000), TEXT.slice(3000)]
    const rows = (...texts: string[]) =>
      texts.map(text => `${JSON.stringify({ n: 1, messages: [{ text }] })}\n`).join('\n')
    const parent = temporaryDirectory()
    const inputs = {
      txt: [await corpus('1.txt', one), await corpus('2.txt', two)],
      reversed: [await corpus('2.txt', two), await corpus('1.txt', one)],
      jsonl: [await corpus('rows.jsonl', rows(one, two))],
    }
    const written = await Promise.all(
      Object.entries(inputs).map(async ([name, files]) => {
        const out = join(parent, name)
        await trainTokenizer({ files, vocabSize: 500, out })
        return Promise.all(NAMES.map(file => readFile(join(out, file), 'utf8')))
      }),
    )
    expect(written[1]).toEqual(written[0])
    expect(written[2]).toEqual(written[0])
  })

  test('stops early when nothing is left to merge', async () => {
    const out = join(temporaryDirectory(), 'o')
    const files = [await corpus('a.txt', 'ab ab<|im_end|>ab')]
    expect((await trainTokenizer({ files, vocabSize: 1000, out })).vocabSize).toBe(260)
    expect((await Tokenizer.load(out)).idOf('ab')).toBe(259)
  })

  test('shows progress, lets others run, can be cancelled', async () => {
    const files = [await corpus('a.txt', Array.from({ length: 60_000 }, (_, i) => randomWord(i)).join(' '))]
    const stages = new Set<string>()
    let turns = 0
    const timer = setInterval(() => turns++, 1)
    const out = join(temporaryDirectory(), 'o')
    const controller = new AbortController()
    const onProgress = ({ stage }: { stage: string }) => {
      stages.add(stage)
      if (stage === 'merging') controller.abort()
    }
    const training = trainTokenizer({
      files,
      vocabSize: 20_000,
      minFrequency: 1,
      out,
      onProgress,
      signal: controller.signal,
    })
    await expect(training).rejects.toThrow(/abort/i)
    clearInterval(timer)
    expect(stages).toContain('merging')
    expect(turns).toBeGreaterThan(0)
    expect(await readdir(dirname(out))).toEqual([])
  })

  test.each<[string, string | Uint8Array, string]>([
    ['a.csv', 'x', 'a.csv: expected a .txt, .md or .jsonl file'],
    ['a.jsonl', '{"a":"b"}\n\n{"a"\n', 'a.jsonl:3: expected a JSON object'],
    ['a.jsonl', '{"a":"b"}\n["c"]', 'a.jsonl:2: expected a JSON object with at least one string'],
    ['a.jsonl', '{"a":1}', 'a.jsonl:1: expected a JSON object with at least one string'],
    ['a.txt', Uint8Array.of(65, 10, 66, 0xff, 10), 'a.txt:2: expected UTF-8 text'],
    ['a.txt', '', 'no text in'],
  ])('%s %j is refused', async (name, content, message) => {
    const out = join(temporaryDirectory(), 'o')
    await expect(trainTokenizer({ files: [await corpus(name, content)], vocabSize: 300, out })).rejects.toThrow(message)
    expect(await readdir(dirname(out))).toEqual([])
  })

  test('a missing file, a vocabulary too small, a directory in use', async () => {
    const files = [await corpus('a.txt', 'text')]
    const parent = temporaryDirectory()
    const out = join(parent, 'o')
    await expect(trainTokenizer({ files: ['/nowhere.txt'], vocabSize: 300, out })).rejects.toThrow(
      '/nowhere.txt: there is no such file',
    )
    await expect(trainTokenizer({ files, vocabSize: 258, out })).rejects.toThrow('at least 259, got 258')
    await expect(trainTokenizer({ files, vocabSize: 300, out: parent, minFrequency: 0 })).rejects.toThrow(
      'minFrequency',
    )
    await expect(trainTokenizer({ files, vocabSize: 300, out: files[0]! })).rejects.toThrow(
      'expected an empty directory',
    )
    await expect(trainTokenizer({ files, vocabSize: 300, out: dirname(files[0]!) })).rejects.toThrow(
      'not empty. Give another directory',
    )
    await mkdir(out)
    expect((await trainTokenizer({ files, vocabSize: 300, out })).dir).toBe(out)
  })
})

describe('whetstone tokenizer', () => {
  const printed = capturedOutput()
  const call = (...args: string[]) => main(['tokenizer', ...args])

  test('trains from several files', async () => {
    const out = join(temporaryDirectory(), 'o')
    const [a, b, c] = [await corpus('a.txt', TEXT), await corpus('b.txt', TEXT), await corpus('c.jsonl', '{"x":"y"}')]
    expect(await call('train', '--input', a, b, '--input', c, '--vocab-size', '400', '--out', out)).toBe(0)
    expect(printed.stdout).toBe(`${out}: 400 tokens from ${(2 * TEXT.length + 1).toLocaleString('en-US')} characters\n`)
    expect((await Tokenizer.load(out)).vocabSize).toBe(400)
  })

  test.each([
    [[], 'expected an action'],
    [['sing'], 'unknown action "sing"'],
    [['train', '--vocab-size', '300', '--out', 'o'], '--input: expected at least one file'],
    [['train', '--input', 'a.txt', '--vocab-size', '300'], '--out: expected a directory'],
    [['train', '--input', 'a.txt', '--out', 'o'], '--vocab-size: expected an integer of at least 259'],
    [['train', '--input', 'a.txt', '--out', 'o', '--vocab-size', '3e2.5'], '--vocab-size: expected an integer'],
    [['train', '--input', 'a.txt', '--out', 'o', '--vocab-size', '300', '--min-frequency', '0'], '--min-frequency'],
    [['train', '--inptu', 'a.txt'], 'there is no option --inptu; did you mean --input?'],
  ])('usage error: %j', async (args, message) => {
    expect(await call(...args)).toBe(2)
    expect(printed.stderr).toContain(message)
    expect(printed.stderr).toContain('`whetstone tokenizer --help` lists the options.')
  })

  test('bad input is exit code 1, help is 0', async () => {
    expect(await call('train', '--input', '/nowhere.txt', '--vocab-size', '300', '--out', '/tmp/never-made')).toBe(1)
    expect(printed.stderr).toContain('/nowhere.txt: there is no such file')
    expect(await call('--help')).toBe(0)
    expect(printed.stdout).toBe(`${help}\n`)
  })
})
