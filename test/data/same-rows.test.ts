import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { parquetWriteFile } from 'hyparquet-writer'
import { describe, expect, it } from 'vitest'
import { dataFolder, epochOf, tokenizer } from '../support/data.js'

const { folder, jsonl, open, write } = dataFolder()

describe('the same rows', () => {
  const rows = Array.from({ length: 40 }, (_, i) => ({
    prompt: `What is "${i}", + 1?\nSay, é 🙂`,
    completion: i % 3 === 0 ? `It is\r\n${i + 1}` : `${i + 1}`,
  }))
  const csvCell = (text: string) => `"${text.replaceAll('"', '""')}"`

  it('in JSONL, JSON, CSV, TSV and Parquet are the same examples in the same order', async () => {
    jsonl('same-rows.jsonl', rows)
    write('same-rows.json', JSON.stringify(rows, null, 2))
    for (const [name, separator] of [
      ['csv', ','],
      ['tsv', '\t'],
    ] as const)
      write(
        `same-rows.${name}`,
        [['prompt', 'completion'], ...rows.map(Object.values)]
          .map(cells => cells.map(cell => csvCell(cell as string)).join(separator))
          .join('\r\n'),
      )
    for (const [name, codec] of [
      ['snappy', 'SNAPPY'],
      ['plain', 'UNCOMPRESSED'],
      ['gzip', 'GZIP'],
    ] as const)
      parquetWriteFile({
        filename: join(folder, `same-rows-${name}.parquet`),
        compressors: { GZIP: bytes => gzipSync(bytes) },
        columnData: (['prompt', 'completion'] as const).map(column => ({
          name: column,
          data: rows.map(row => row[column]),
          type: 'STRING',
        })),
        codec,
        rowGroupSize: 7,
      })
    const all = []
    for (const name of ['.jsonl', '.json', '.csv', '.tsv', '-snappy.parquet', '-plain.parquet', '-gzip.parquet']) {
      const dataset = await open('conversations', `same-rows${name}`, { validationShare: 0.2 })
      const examples = await epochOf(dataset.train(tokenizer))
      all.push(examples.map(({ where: _, ...example }) => example))
      expect(dataset.report).toMatchObject({ rows: 40, formats: { 'prompt, completion': 40 } })
    }
    for (const examples of all) expect(examples).toEqual(all[0])
  })

  it('with lists, numbers and booleans in them are the same from cells and from columns', async () => {
    const conversations = [
      {
        messages: [
          { role: 'user', content: 'a' },
          { role: 'assistant', content: 'b' },
        ],
        desirable: true,
      },
      {
        messages: [
          { role: 'user', content: 'c' },
          { role: 'assistant', content: 'd' },
        ],
        desirable: false,
      },
    ]
    jsonl('typed.jsonl', conversations)
    const cells = conversations.map(({ messages, desirable }) => `${csvCell(JSON.stringify(messages))},${desirable}`)
    write('typed.csv', ['messages,desirable', ...cells].join('\n'))
    parquetWriteFile({
      filename: join(folder, 'typed.parquet'),
      columnData: [
        { name: 'messages', data: conversations.map(({ messages }) => messages), type: 'JSON' },
        { name: 'desirable', data: conversations.map(({ desirable }) => desirable), type: 'BOOLEAN' },
      ],
    })
    // As other programs write it: a list of records, not a text.
    const text = { type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' } as const
    parquetWriteFile({
      filename: join(folder, 'nested.parquet'),
      columnData: [
        { name: 'messages', data: conversations.map(({ messages }) => messages) },
        { name: 'desirable', data: conversations.map(({ desirable }) => desirable) },
      ],
      schema: [
        { name: 'root', num_children: 2 },
        { name: 'messages', repetition_type: 'OPTIONAL', num_children: 1, converted_type: 'LIST' },
        { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
        { name: 'element', repetition_type: 'OPTIONAL', num_children: 2 },
        { name: 'role', ...text },
        { name: 'content', ...text },
        { name: 'desirable', type: 'BOOLEAN', repetition_type: 'OPTIONAL' },
      ],
    })
    const all = []
    for (const name of ['typed.jsonl', 'typed.csv', 'typed.parquet', 'nested.parquet']) {
      const stream = (await open('labelled', name, { shuffle: false })).train(tokenizer)
      all.push(
        (await epochOf(stream)).map(({ sequence: { ids, trained }, desirable }) => ({ ids, trained, desirable })),
      )
    }
    for (const examples of all) expect(examples).toEqual(all[0])
  })
})
