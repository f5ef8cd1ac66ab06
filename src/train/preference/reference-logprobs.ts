/** Log-probabilities of responses under the reference, each computed once and kept in the run directory. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { writeFileAtomic } from '../../files/index.js'
import type { TokenModel } from '../../model/index.js'
import type { Sequence } from '../../sequence/index.js'
import { namingRows, type TrainingRow } from '../run/errors.js'

/** A response that is to be scored: the trained tokens of a sequence. */
export interface Response extends TrainingRow {
  /** A stable id: its row, and the row of its prompt if that is another one. */
  readonly key: string
  readonly sequence: Sequence
}

/** The log-probability of a whole response. */
export function sumLogprobs(logprobs: ArrayLike<number>): number {
  let sum = 0
  for (let t = 0; t < logprobs.length; t++) sum += logprobs[t]!
  return sum
}

const format = 'whetstone reference log-probabilities 1'

export class ReferenceLogprobs {
  readonly #places = new Map<string, number>()
  #values = new Float64Array(1024)

  /** Description of what they cover, for comparison. */
  covers: string

  /** `of`: a fingerprint of the reference and of how rows are read; numbers of another one are ignored. */
  constructor(
    readonly of: string,
    covers = '',
  ) {
    this.covers = covers
  }

  /** The file's, where there is one of that fingerprint whose checksum is right; otherwise none. */
  static async read(path: string, of: string): Promise<ReferenceLogprobs> {
    const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    })
    const end = bytes?.indexOf('\n') ?? -1
    if (!bytes || end < 0) return new ReferenceLogprobs(of)
    const head = bytes.toString('utf8', 0, end)
    const body = bytes.subarray(end + 1)
    const [, written, covers] = head.split('\t')
    if (written !== of || head !== heading(of, covers ?? '', body)) return new ReferenceLogprobs(of)
    const found = new ReferenceLogprobs(of, covers)
    for (let at = 0; at < body.length; ) {
      const next = body.indexOf('\n', at)
      const [key, value] = body.toString('utf8', at, next).split('\t') as [string, string]
      found.#set(key, Number(value))
      at = next + 1
    }
    return found
  }

  get size(): number {
    return this.#places.size
  }

  has(key: string): boolean {
    return this.#places.has(key)
  }

  get(key: string): number {
    const place = this.#places.get(key)
    if (place === undefined) throw new RangeError(`the reference has not scored ${key}`)
    return this.#values[place]!
  }

  /** Scores those responses that it does not know yet. */
  async add(
    responses: readonly Response[],
    score: (sequences: readonly Sequence[]) => ReturnType<TokenModel<'language'>['score']>,
  ): Promise<void> {
    const fresh = [...new Map(responses.filter(({ key }) => !this.has(key)).map(one => [one.key, one])).values()]
    if (fresh.length === 0) return
    const sequences = fresh.map(({ sequence }) => sequence)
    const outputs = await namingRows(fresh, () => score(sequences))
    for (const [i, { key }] of fresh.entries()) this.#set(key, sumLogprobs(outputs[i]!.logprobs))
  }

  /** A line each, behind a line with the checksum of them all; a number's shortest decimals are exact. */
  async write(path: string): Promise<void> {
    const lines = Array.from(this.#places, ([key, place]) => Buffer.from(`${key}\t${this.#values[place]}\n`))
    const body = Buffer.concat(lines)
    await writeFileAtomic(path, Buffer.concat([Buffer.from(`${heading(this.of, this.covers, body)}\n`), body]))
  }

  #set(key: string, value: number): void {
    const place = this.#places.size
    if (place === this.#values.length) {
      const wider = new Float64Array(2 * place)
      wider.set(this.#values)
      this.#values = wider
    }
    this.#values[place] = value
    this.#places.set(key, place)
  }
}

/** The first line: what follows, and a checksum over all of it. */
function heading(of: string, covers: string, body: Uint8Array): string {
  const start = `${format}\t${of}\t${covers}\t`
  return start + createHash('sha256').update(start).update(body).digest('hex')
}
