import { createHash } from 'node:crypto'
import { Checkpoint } from '../../src/tensor/index.js'

/** A checksum of each tensor of a model directory. */
export async function checksumsOf(directory: string): Promise<Record<string, string>> {
  const checkpoint = await Checkpoint.open(directory)
  const read: Record<string, string> = {}
  for (const name of checkpoint.names) {
    const tensor = await checkpoint.read(name)
    read[name] = createHash('sha256').update(tensor.bytes()).digest('hex').slice(0, 16)
    tensor.dispose()
  }
  await checkpoint.close()
  return read
}
