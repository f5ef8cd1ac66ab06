/** A name for content: the same bytes, prepared in the same way, have the same name. */
import { createHash, webcrypto } from 'node:crypto'
import type { RawPixels } from './inputs.js'

/** Smaller ones are hashed at once: to hand them over takes longer. */
const small = 1 << 16

export async function bytesHash(bytes: Uint8Array | Uint8ClampedArray): Promise<string> {
  if (bytes.length <= small) return createHash('sha256').update(bytes).digest('hex')
  return Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes)).toString('hex')
}

/** Of a file or decoded pixels, and of everything else that the result depends on. */
export async function contentHash(source: Uint8Array | RawPixels, parts: readonly unknown[]): Promise<string> {
  const isFile = source instanceof Uint8Array
  const content = await bytesHash(isFile ? source : source.data)
  return textHash([content, isFile ? 'file' : [source.width, source.height], ...parts])
}

export function textHash(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}
