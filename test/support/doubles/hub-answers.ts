/** Contents, checksums and answers of the Hub's double. */
import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import type { ServerResponse } from 'node:http'

export type Content = Buffer | { readonly file: string }

/** `.gitattributes` of the Hub say which names are large files; size does the rest. */
export const isLarge = (path: string, content: Content): boolean =>
  /\.(safetensors|parquet|arrow|bin|gguf|gz|zst)$/.test(path) || sizeOf(content) > 1e7

export const sizeOf = (content: Content): number =>
  Buffer.isBuffer(content) ? content.length : statSync(content.file).size

const known = new Map<string, string>()

export function etagOf(path: string, content: Content): string {
  const key = Buffer.isBuffer(content) ? undefined : content.file
  const before = key === undefined ? undefined : known.get(key)
  if (before !== undefined) return before
  const bytes = Buffer.isBuffer(content) ? content : readFileSync(content.file)
  const etag = isLarge(path, content)
    ? createHash('sha256').update(bytes).digest('hex')
    : createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
  if (key !== undefined) known.set(key, etag)
  return etag
}

export function json(response: ServerResponse, value: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', ...headers }).end(JSON.stringify(value))
}

export function refuse(response: ServerResponse, status: number, code: string | undefined, error: string): void {
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    ...(code === undefined ? {} : { 'x-error-code': code }),
    'x-error-message': error,
  })
  response.end(JSON.stringify({ error }))
}
