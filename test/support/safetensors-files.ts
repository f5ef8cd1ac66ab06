import { writeFileSync } from 'node:fs'
import { SafetensorsFile } from '../../src/tensor/safetensors/index.js'

/** A safetensors file byte by byte, right or wrong. */
export function fileBytes(header: unknown, data: Uint8Array = new Uint8Array()): Uint8Array {
  const text = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header))
  return Buffer.concat([lengthPrefix(BigInt(text.length)), text, data])
}

export function lengthPrefix(length: bigint): Uint8Array {
  const prefix = Buffer.alloc(8)
  prefix.writeBigUInt64LE(length)
  return prefix
}

/** Opens a file with these bytes, reads every tensor's bytes, and closes it. */
export async function readAll(path: string, bytes: Uint8Array): Promise<Map<string, Uint8Array>> {
  writeFileSync(path, bytes)
  const file = await SafetensorsFile.open(path)
  try {
    const contents = new Map<string, Uint8Array>()
    for (const name of file.names) {
      const target = new Uint8Array(file.info(name).bytes)
      await file.readInto(name, target)
      contents.set(name, target)
    }
    return contents
  } finally {
    await file.close()
  }
}
