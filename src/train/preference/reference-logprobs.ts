/** What the reference model gives to responses, each computed once and kept in the run directory. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { writeFileAtomic } from '../../files/index.js'
import type { TokenModel } from '../../model/index.js'
import { namingRows, type TrainingRow } from '../errors.js'

/** A response that is to be scored: the tokens of `ids` from `from` on. */
export interface Response {
  /** Names it for good: by its row, and by the row of its prompt where that is another one. */
  readonly key: string
  readonly row: TrainingRow
  readonly ids: Int32Array
  readonly from: number
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

  /** What they cover, in the words of whoever wrote them. */
  covers: string

  constructor(covers = '') {
    this.covers = covers
  }

  /** The file's, where there is one whose checksum is right; damaged, it is computed again. */
  static async read(path: string): Promise<ReferenceLogprobs> {
    const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    })
    const end = bytes?.indexOf('\n') ?? -1
    if (!bytes || end < 0) return new ReferenceLogprobs()
    const [, covers, sum] = bytes.toString('utf8', 0, end).split('\t')
    const body = bytes.subarray(end + 1)
    if (covers === undefined || sum !== checksum(covers, body)) return new ReferenceLogprobs()
    const found = new ReferenceLogprobs(covers)
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

  of(key: string): number {
    const place = this.#places.get(key)
    if (place === undefined) throw new RangeError(`the reference has not scored ${key}`)
    return this.#values[place]!
  }

  /** Scores those responses that it does not know yet. */
  async add(
    responses: readonly Response[],
    score: (sequences: readonly Int32Array[], from: readonly number[]) => ReturnType<TokenModel<'language'>['score']>,
  ): Promise<void> {
    const fresh = [...new Map(responses.filter(({ key }) => !this.has(key)).map(one => [one.key, one])).values()]
    if (fresh.length === 0) return
    const rows = fresh.map(({ row }) => row)
    const outputs = await namingRows(rows, 1, () =>
      score(
        fresh.map(({ ids }) => ids),
        fresh.map(({ from }) => from),
      ),
    )
    for (const [i, { key }] of fresh.entries()) this.#set(key, sumLogprobs(outputs[i]!.logprobs))
  }

  /** A line each, behind a line with the checksum of them all; a number's shortest decimals are exact. */
  async write(path: string): Promise<void> {
    const { covers } = this
    const lines = Array.from(this.#places, ([key, place]) => Buffer.from(`${key}\t${this.#values[place]}\n`))
    const body = Buffer.concat(lines)
    await writeFileAtomic(path, Buffer.concat([Buffer.from(`${format}\t${covers}\t${checksum(covers, body)}\n`), body]))
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

const checksum = (covers: string, body: Uint8Array): string =>
  createHash('sha256').update(`${format}\t${covers}\n`).update(body).digest('hex')
