import { readFileSync } from 'node:fs'

/** Of this package. */
export function versionOf(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}
