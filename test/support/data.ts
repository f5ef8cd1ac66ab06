import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect } from 'vitest'
import { RowFile } from '../../src/data/files/row-file.js'
import {
  type DataSpec,
  type Dataset,
  dataOptionsSchema,
  type ExampleKind,
  type ExampleStream,
  type OpenDatasetOptions,
  openDataset,
} from '../../src/data/index.js'
import { Tokenizer } from '../../src/text/index.js'
import { temporaryDirectory } from './files.js'
import { tokenizerDirectory, tokenizerPath } from './tokenizers.js'

const chatMl = `{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{% endfor %}\
{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}`
/** With ChatML, and no system message of its own. */
export const tokenizer = await Tokenizer.load(
  await tokenizerDirectory({
    'tokenizer_config.json': readFileSync(join(tokenizerPath, 'tokenizer_config.json'), 'utf8'),
    'chat_template.jinja': chatMl,
  }),
)
/** Without a chat template. */
export const plainTokenizer = await Tokenizer.load(
  fileURLToPath(new URL('../fixtures/tokenizer-llama2', import.meta.url)),
)

/** A folder of its own for the files of a test file. */
export function dataFolder() {
  const folder = temporaryDirectory()
  const opened: Dataset<ExampleKind>[] = []
  afterAll(async () => {
    for (const dataset of opened) await dataset.close()
  })
  const write = (name: string, content: string | Uint8Array): string => {
    writeFileSync(join(folder, name), content)
    return name
  }
  return {
    folder,
    write,
    jsonl: (name: string, rows: readonly unknown[]) =>
      write(name, rows.map(row => `${JSON.stringify(row)}\n`).join('')),
    async open<K extends ExampleKind>(
      kind: K,
      spec: DataSpec,
      options: Partial<OpenDatasetOptions> = {},
    ): Promise<Dataset<K>> {
      const dataset = await openDataset(kind, spec, {
        ...dataOptionsSchema.parse({}),
        seed: 1,
        baseDirectory: folder,
        ...options,
      })
      opened.push(dataset as unknown as Dataset<ExampleKind>)
      return dataset
    },
  }
}

/** All examples of the epoch that the stream is in. */
export async function epochOf<E>(stream: ExampleStream<E>, count = 7): Promise<E[]> {
  const { epoch } = stream.cursor
  const examples: E[] = []
  while (stream.cursor.epoch === epoch) examples.push(...(await stream.take(count)))
  return examples
}

/** Values of all rows as the pass over the file finds them, and as they are read again, in another order. */
export async function rowsOfFile(
  path: string,
  shown: string = path,
): Promise<{ scanned: unknown[]; read: unknown[]; wheres: string[]; bad: string[] }> {
  const file = await RowFile.open(path, { shown })
  try {
    const scanned: unknown[] = []
    const wheres: string[] = []
    const bad: string[] = []
    for await (const batch of file.scan())
      for (const { parsed, place, where } of batch) {
        if (parsed.kind === 'bad') {
          bad.push(`${where}: ${parsed.message}`)
          continue
        }
        file.index.add(place)
        scanned.push(parsed.value)
        wheres.push(where)
      }
    const read: unknown[] = new Array(file.index.size)
    for (let i = file.index.size - 1; i >= 0; i--) {
      const { value, where } = await file.read(i)
      read[i] = value
      expect(where).toBe(wheres[i])
    }
    return { scanned, read, wheres, bad }
  } finally {
    await file.close()
  }
}
