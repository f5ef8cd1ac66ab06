/** Rows one by one, for commands that look at each row by itself: what trainings read, and pipes. */
import { stat } from 'node:fs/promises'
import { RowFile, type ScannedRow } from './files/row-file.js'
import type { RowFormat } from './files/row-format.js'
import { findSourceFiles, type SourceFile } from './source-files.js'

interface OpenedRow {
  /** `FILE:12`, or `FILE, row 3`. */
  readonly where: string
  readonly parsed: ScannedRow['parsed']
  readonly values: RowFormat['values']
}

/**
 * The rows of a file, a pattern or a folder. They can be read again and again, with memory that does not grow with their contents.
 *
 * @example
 * const input = await RowInput.open('prompts.parquet')
 * for await (const { where, parsed } of input.rows()) console.log(where, parsed)
 * await input.close()
 */
export class RowInput {
  readonly #files: RowFile[] = []
  #isScanned = false

  private constructor(
    private readonly found: readonly Pick<SourceFile, 'path' | 'shown'>[],
    private readonly signal: AbortSignal | undefined,
  ) {}

  static async open(path: string, { signal }: { readonly signal?: AbortSignal } = {}): Promise<RowInput> {
    const there = await stat(path).catch(() => undefined)
    const isStream = there && !there.isFile() && !there.isDirectory()
    const files = isStream ? [{ path, shown: path }] : (await findSourceFiles(path, process.cwd())).files
    return new RowInput(
      files.length === 1 && !there?.isDirectory() ? [{ path: files[0]!.path, shown: path }] : files,
      signal,
    )
  }

  async *rows(): AsyncGenerator<OpenedRow> {
    if (this.#isScanned) {
      yield* this.#again()
      return
    }
    for (const { path, shown } of this.found) {
      const file = await RowFile.open(path, { shown, signal: this.signal, otherwise: '.jsonl' })
      this.#files.push(file)
      for await (const batch of file.scan({ signal: this.signal }))
        for (const { place, where, parsed } of batch) {
          if (parsed.kind === 'row') file.index.add(place)
          yield { where, parsed, values: file.values }
        }
    }
    this.#isScanned = true
  }

  async close(): Promise<void> {
    await Promise.all(this.#files.map(file => file.close()))
  }

  async *#again(): AsyncGenerator<OpenedRow> {
    for (const file of this.#files)
      for (let row = 0; row < file.index.size; row++) {
        this.signal?.throwIfAborted()
        const { value, where } = await file.read(row)
        yield { where, parsed: { kind: 'row', value }, values: file.values }
      }
  }
}
