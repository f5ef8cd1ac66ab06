/** Values of tables as JSON has them: the same for every format of file. */

/** An integer; as text where a number would not be exact. */
export function plainInteger(value: bigint): number | string {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Bytes: text where they are text, because some writers do not say which; otherwise `{ base64 }`, as of an image. */
export function plainBytes(bytes: Uint8Array): string | { readonly base64: string } {
  try {
    return utf8.decode(bytes)
  } catch {
    return { base64: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64') }
  }
}

/** A time as `2024-01-31T12:00:00.000Z`, with more digits where there are more. */
export function plainTime(value: bigint, unitsPerSecond: 1 | 1_000 | 1_000_000 | 1_000_000_000): string {
  const units = BigInt(unitsPerSecond)
  const seconds = value / units - (value % units < 0n ? 1n : 0n)
  const fraction = value - seconds * units
  const digits = String(unitsPerSecond).length - 1
  const text = digits === 0 ? '' : String(fraction).padStart(digits, '0').replace(/0+$/, '')
  const date = new Date(Number(seconds) * 1000)
  if (Number.isNaN(date.getTime())) return `${value}`
  return `${date.toISOString().slice(0, -5)}.${text.padEnd(3, '0')}Z`
}

export function plainDate(days: number): string {
  const date = new Date(days * 86_400_000)
  return Number.isNaN(date.getTime()) ? `${days}` : date.toISOString().slice(0, 10)
}
