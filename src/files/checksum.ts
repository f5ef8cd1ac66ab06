/** Checksums of whole files. They are read in pieces: the event loop turns between any two, and files may be larger than memory. */
import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { crc32 } from 'node:zlib'

/** A millisecond of SHA-256. */
const pieceSize = 2 ** 20

/** CRC-32 in hex: finds damage at several gigabytes a second. It does not protect against deliberate changes of a file. */
export async function fileCrc32(path: string): Promise<string> {
  let value = 0
  await eachPiece(path, piece => {
    value = crc32(piece, value)
  })
  return value.toString(16).padStart(8, '0')
}

/** SHA-256 in hex, as `sha256sum` prints it. */
export async function fileSha256(path: string): Promise<string> {
  const hash = createHash('sha256')
  await eachPiece(path, piece => void hash.update(piece))
  return hash.digest('hex')
}

/** The next piece is read while one is being worked on. */
async function eachPiece(path: string, take: (piece: Uint8Array) => void): Promise<void> {
  const file = await open(path, 'r')
  try {
    let [current, next] = [Buffer.allocUnsafe(pieceSize), Buffer.allocUnsafe(pieceSize)]
    let reading = file.read(current, 0, pieceSize, null)
    for (;;) {
      const { bytesRead } = await reading
      if (bytesRead === 0) return
      reading = file.read(next, 0, pieceSize, null)
      take(current.subarray(0, bytesRead))
      ;[current, next] = [next, current]
    }
  } finally {
    await file.close()
  }
}
