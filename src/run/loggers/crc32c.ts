/** CRC-32C (Castagnoli), which TFRecord files use and zlib does not have. */
const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1
  return value
})

export function crc32c(bytes: Uint8Array): number {
  let value = 0xffffffff
  for (const byte of bytes) value = table[(value ^ byte) & 255]! ^ (value >>> 8)
  return (value ^ 0xffffffff) >>> 0
}

/** As TFRecord stores it, so that a checksum of data that holds checksums stays a good one. */
export function maskedCrc32c(bytes: Uint8Array): number {
  const value = crc32c(bytes)
  return (((value >>> 15) | (value << 17)) + 0xa282ead8) >>> 0
}
