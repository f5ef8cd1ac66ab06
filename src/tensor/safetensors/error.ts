import { type ErrorCode, WhetstoneError } from '../../errors/index.js'

/** A safetensors file or checkpoint that cannot be trusted, read or written; names the file and, where there is one, the tensor. */
export class SafetensorsError extends WhetstoneError {
  static override readonly code: ErrorCode = 'WHETSTONE_SAFETENSORS'
  override readonly name = 'SafetensorsError'
  readonly file: string
  readonly tensor: string | undefined

  constructor(problem: string, where: { file: string; tensor?: string | undefined; cause?: unknown }) {
    const place = where.tensor === undefined ? where.file : `${where.file}: tensor ${quote(where.tensor)}`
    super(`${place}: ${problem}`, where.cause === undefined ? undefined : { cause: where.cause })
    this.file = where.file
    this.tensor = where.tensor
  }
}

/** A name from an untrusted file, safe and short enough for one line of a message. */
export function quote(name: unknown): string {
  const text = JSON.stringify(name) ?? String(name)
  return text.length > 200 ? `${text.slice(0, 200)}...` : text
}
