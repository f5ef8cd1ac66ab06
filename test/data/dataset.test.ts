import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ConversationExample, SkippedRow } from '../../src/data/index.js'
import { dataFolder, epochOf, tokenizer } from '../support/data.js'

const { folder, jsonl, open, write } = dataFolder()
const rows = (count: number, from = 0) => Array.from({ length: count }, (_, i) => ({ text: `row ${from + i}` }))
const texts = (examples: readonly ConversationExample[]) =>
  Promise.all(examples.map(({ sequence }) => tokenizer.decode(sequence.ids, { skipSpecialTokens: true })))

describe('the order of a dataset', () => {
  it('has every row once in an epoch, another order in the next, and the same for the same seed', async () => {
    jsonl('order.jsonl', rows(100))
    const stream = (await open('conversations', 'order.jsonl')).train(tokenizer)
    const first = await texts(await epochOf(stream))
    const second = await texts(await epochOf(stream))
    expect([...first].sort()).toEqual(
      rows(100)
        .map(({ text }) => text)
        .sort(),
    )
    expect([...second].sort()).toEqual([...first].sort())
    expect(second).not.toEqual(first)
    const again = (await open('conversations', 'order.jsonl')).train(tokenizer)
    expect(await texts(await epochOf(again, 32))).toEqual(first)
    const other = (await open('conversations', 'order.jsonl', { seed: 2 })).train(tokenizer)
    expect(await texts(await epochOf(other))).not.toEqual(first)
  })

  it('is that of the files where nothing is shuffled', async () => {
    jsonl('plain.jsonl', rows(10))
    const stream = (await open('conversations', 'plain.jsonl', { shuffle: false })).train(tokenizer)
    expect(await texts(await epochOf(stream))).toEqual(rows(10).map(({ text }) => text))
  })

  it('goes on from a cursor as if it had not stopped', async () => {
    jsonl('cursor.jsonl', rows(50))
    const dataset = await open('conversations', 'cursor.jsonl')
    const whole = dataset.train(tokenizer)
    const taken = []
    for (let i = 0; i < 30; i++) {
      const cursor = JSON.parse(JSON.stringify(whole.cursor))
      taken.push({ cursor, examples: await whole.take(8) })
    }
    for (const { cursor, examples } of taken) {
      const resumed = dataset.train(tokenizer)
      resumed.seek(cursor)
      expect(await resumed.take(8)).toEqual(examples)
    }
    // 50 rows in eights: the epoch's last has two.
    expect(taken.slice(0, 8).map(({ examples }) => examples.length)).toEqual([8, 8, 8, 8, 8, 8, 2, 8])
    expect(() => whole.seek({ epoch: 0, position: 50 })).toThrow(/epoch 0 has no example 50: the data has 50 examples/)
  })

  it('visits sources as often as their weights say, and every row of a part in its turn', async () => {
    jsonl('twice.jsonl', rows(10))
    jsonl('half.jsonl', rows(20, 100))
    const spec = [
      { path: 'twice.jsonl', weight: 2 },
      { path: 'half.jsonl', weight: 0.5 },
    ]
    const stream = (await open('conversations', spec)).train(tokenizer)
    expect(stream.size).toBe(30)
    const epochs = [await epochOf(stream), await epochOf(stream)]
    for (const epoch of epochs) {
      const counted = new Map<string, number>()
      for (const text of await texts(epoch)) counted.set(text, (counted.get(text) ?? 0) + 1)
      expect(rows(10).map(({ text }) => counted.get(text))).toEqual(new Array(10).fill(2))
      expect(new Set(epoch.map(({ sequence }) => sequence.promptId)).size).toBe(30)
    }
    const seen = (await texts(epochs.flat())).filter(text => Number(text.slice(4)) >= 100)
    expect(seen.sort()).toEqual(
      rows(20, 100)
        .map(({ text }) => text)
        .sort(),
    )
  })
})

describe('files of a dataset', () => {
  it('are found by patterns, in the order of their names, each with its fingerprint', async () => {
    mkdirSync(join(folder, 'many/deep'), { recursive: true })
    for (const [i, name] of ['many/b.jsonl', 'many/a.jsonl', 'many/deep/c.jsonl', 'many/.hidden.jsonl'].entries())
      jsonl(name, rows(1, i))
    write('many/notes.md', 'no data')
    const one = await open('conversations', 'many/*.jsonl')
    expect(one.report.files.map(({ path }) => path)).toEqual(['many/a.jsonl', 'many/b.jsonl'])
    const all = await open('conversations', 'many/**/{a,c}.json[l]')
    expect(all.report.files.map(({ path }) => path)).toEqual(['many/a.jsonl', 'many/deep/c.jsonl'])
    const sha = createHash('sha256')
      .update(readFileSync(join(folder, 'many/a.jsonl')))
      .digest('hex')
    expect(one.fingerprints[join(folder, 'many/a.jsonl')]).toBe(sha)
    await expect(open('conversations', 'many/*.csv')).rejects.toThrow(/many\/\*\.csv: no file matches/)
    await expect(open('conversations', ['many/a.jsonl', 'many/*.jsonl'])).rejects.toThrow(/a\.jsonl is given twice/)
    await expect(open('conversations', 'none.jsonl')).rejects.toThrow('none.jsonl: there is no such file')
  })
})

describe('names of rows', () => {
  it('are those of their content, and tell repeated rows apart; what they call themselves does not matter', async () => {
    jsonl('names.jsonl', [
      { id: 1, text: 'a' },
      { id: 1, text: 'b' },
      { text: 'a', id: 1 },
      { id: 1, text: 'a' },
    ])
    const dataset = await open('conversations', 'names.jsonl', { shuffle: false })
    const ids = (await epochOf(dataset.train(tokenizer))).map(({ sequence }) => sequence.promptId)
    expect(ids).toEqual([ids[0], expect.not.stringContaining(ids[0]!), `${ids[0]}#2`, `${ids[0]}#3`])
    expect(dataset.report.repeated).toBe(2)
    jsonl('moved.jsonl', [
      { id: 1, text: 'b' },
      { text: 'a', id: 1 },
    ])
    const moved = await open('conversations', 'moved.jsonl', { shuffle: false })
    expect((await epochOf(moved.train(tokenizer))).map(({ sequence }) => sequence.promptId)).toEqual([ids[1], ids[0]])
  })
})

describe('held-out rows', () => {
  it('stay on their side when rows are added, moved or repeated', async () => {
    const held = async (name: string, data: unknown[]) => {
      jsonl(name, data)
      const dataset = await open('conversations', name, { validationShare: 0.3 })
      const set = dataset.validation(tokenizer)!
      const found: string[] = []
      for await (const part of set.parts(8)) found.push(...(await texts(part)))
      expect(found).toHaveLength(set.size)
      const train = await texts(await epochOf(dataset.train(tokenizer)))
      expect([...found, ...train].sort()).toEqual(data.map(row => (row as { text: string }).text).sort())
      return { found: new Set(found), train: new Set(train) }
    }
    const before = await held('before.jsonl', rows(200))
    expect(before.found.size).toBeGreaterThan(35)
    expect(before.found.size).toBeLessThan(85)
    const after = await held('after.jsonl', [...rows(50, 500), ...rows(200).reverse(), ...rows(20)])
    for (const text of before.found) expect(after.found).toContain(text)
    for (const text of before.train) expect(after.train).toContain(text)
    for (const text of after.found) expect(after.train).not.toContain(text)
  })

  it('come from files of their own, or from a share, and not from nowhere', async () => {
    jsonl('t.jsonl', rows(5))
    jsonl('v.jsonl', rows(3, 50))
    const dataset = await open('conversations', 't.jsonl', { validationData: 'v.jsonl' })
    expect(dataset.report).toMatchObject({ train: 5, validation: 3, rows: 8 })
    const parts = []
    for await (const part of dataset.validation(tokenizer)!.parts(2)) parts.push(await texts(part))
    expect(parts).toEqual([['row 50', 'row 51'], ['row 52']])
    expect((await open('conversations', 't.jsonl')).validation(tokenizer)).toBeUndefined()
    const both = { validationData: 'v.jsonl', validationShare: 0.1 }
    await expect(open('conversations', 't.jsonl', both)).rejects.toThrow(/validationData and validationShare/)
    const weighted = { validationData: { path: 'v.jsonl', weight: 2 } }
    await expect(open('conversations', 't.jsonl', weighted)).rejects.toThrow(
      /validationData: weight has no meaning .* remove it/,
    )
    jsonl('one.jsonl', rows(1))
    await expect(open('conversations', 'one.jsonl', { validationShare: 0.0001 })).rejects.toThrow(
      /no row is left to train on/,
    )
  })

  it('a share of few rows holds out at least one, the first that a larger share takes', async () => {
    jsonl('few.jsonl', [...rows(12), rows(12)[3]])
    const heldOut = async (validationShare: number) => {
      const dataset = await open('conversations', 'few.jsonl', { validationShare })
      const held: string[] = []
      for await (const part of dataset.validation(tokenizer)!.parts(20)) held.push(...(await texts(part)))
      expect(dataset.report.train + held.length).toBe(13)
      return held
    }
    const least = await heldOut(1e-9)
    expect(new Set(least).size).toBe(1)
    let share = 0.01
    while ((await heldOut(share)).length === least.length) share += 0.02
    expect(await heldOut(share)).toEqual(expect.arrayContaining(least))
  })
})

describe('bad rows', () => {
  const bad = [
    '{"text":"fine"}',
    'no json',
    '{"txt":"a"}',
    '{"text":""}',
    '{"text":3}',
    '"bare"',
    '[]',
    '',
    '{"text":"z"}',
  ]

  it('stop everything where none are allowed, each with its line, field and reason', async () => {
    write('bad.jsonl', bad.join('\n'))
    const error: Error = await open('conversations', 'bad.jsonl').then(
      () => new Error('none'),
      error => error,
    )
    expect(error.message.split('\n')).toEqual([
      'bad.jsonl: 6 bad rows',
      expect.stringMatching(/^ {2}bad\.jsonl:2: not JSON \(Unexpected token .*\)$/),
      expect.stringMatching(/^ {2}bad\.jsonl:3: no conversations: expected messages, .* the row has txt: set columns/),
      '  bad.jsonl:4: text: empty; add text, or remove the row',
      '  bad.jsonl:5: text: expected a text, got the number 3',
      '  bad.jsonl:7: expected an object of columns, got a list',
      '  bad.jsonl:8: an empty line between rows; remove it',
      'Fix them, or set maxBadRows to skip up to that many.',
    ])
  })

  it('are left out up to a number, told and counted', async () => {
    write('bad.jsonl', bad.join('\n'))
    const skipped: SkippedRow[] = []
    const dataset = await open('conversations', 'bad.jsonl', { maxBadRows: 6, onSkipped: row => skipped.push(row) })
    expect(dataset.report).toMatchObject({ rows: 3, skipped: { json: 1, format: 3, empty: 1, 'empty-line': 1 } })
    expect(skipped.map(({ where }) => where)).toEqual([2, 3, 4, 5, 7, 8].map(line => `bad.jsonl:${line}`))
    const wheres = (await epochOf(dataset.train(tokenizer))).map(({ where }) => where)
    expect(wheres.sort()).toEqual(['bad.jsonl:1', 'bad.jsonl:6', 'bad.jsonl:9'])
    await expect(open('conversations', 'bad.jsonl', { maxBadRows: 5 })).rejects.toThrow(
      /6 bad rows(.|\n)*more than maxBadRows \(5\)/,
    )
  })

  it('are all counted, and grouped where not all can be shown; a rare reason is shown as well', async () => {
    const rows = Array.from({ length: 5000 }, (_, i) =>
      i === 4321 ? '{"text":' : i % 5 === 0 ? '{"text":""}' : '{"txt":1}',
    )
    write('all-bad.jsonl', rows.join('\n'))
    const error: Error = await open('conversations', 'all-bad.jsonl').catch(error => error)
    const lines = error.message.split('\n')
    expect(lines[0]).toBe('all-bad.jsonl: 5,000 bad rows')
    expect(lines.filter(line => line.startsWith('  all-bad.jsonl:'))).toHaveLength(10)
    expect(lines[10]).toMatch(/^ {2}all-bad\.jsonl:4322: not JSON/)
    expect(lines.slice(11)).toEqual([
      '  and 4,990 more',
      'by reason:',
      expect.stringMatching(/^ {2}3,999 no conversations: expected messages/),
      '  1,000 text: empty',
      '      1 not JSON',
      'Fix them, or set maxBadRows to skip up to that many.',
    ])
  })

  it('of data and of validationData are one error, and count together', async () => {
    write('rows.jsonl', '{"text":"fine"}\n{"text":""}\n{"txt":1}\n')
    write('held.jsonl', '{"text":"fine"}\n{"text":""}\n')
    const error: Error = await open('conversations', 'rows.jsonl', { validationData: 'held.jsonl' }).catch(
      error => error,
    )
    expect(error.message.split('\n')).toEqual([
      'rows.jsonl and held.jsonl: 3 bad rows',
      '  rows.jsonl:2: text: empty; add text, or remove the row',
      expect.stringMatching(/^ {2}rows\.jsonl:3: no conversations/),
      '  held.jsonl:2: text: empty; add text, or remove the row',
      'Fix them, or set maxBadRows to skip up to that many.',
    ])
    const held = { validationData: 'held.jsonl', maxBadRows: 3 }
    expect((await open('conversations', 'rows.jsonl', held)).report).toMatchObject({ train: 1, validation: 1 })
    await expect(open('conversations', 'rows.jsonl', { ...held, maxBadRows: 2 })).rejects.toThrow(/maxBadRows \(2\)/)
    write('fine.jsonl', '{"text":"fine"}\n')
    await expect(open('conversations', 'fine.jsonl', { validationData: 'held.jsonl' })).rejects.toThrow(
      /^held\.jsonl: a bad row\n {2}held\.jsonl:2: text: empty/,
    )
  })

  it('and nothing else is an error too', async () => {
    write('empty.jsonl', '')
    await expect(open('conversations', 'empty.jsonl')).rejects.toThrow('data: no rows in empty.jsonl')
    write('blank.jsonl', '\n\n\n')
    await expect(open('conversations', 'blank.jsonl')).rejects.toThrow('data: no rows in blank.jsonl')
    const spec = { path: 'bad.jsonl', columns: { promt: 'question' } }
    await expect(open('conversations', spec)).rejects.toThrow(
      'columns.promt: there is no such field; did you mean prompt?',
    )
  })
})
