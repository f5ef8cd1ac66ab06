/** Faults of the disk, in this process: methods of file handles that fail. `vi.restoreAllMocks` ends them. */
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { vi } from 'vitest'
import { temporaryDirectory } from './files.js'

export function systemError(code: string, syscall: string): Error {
  return Object.assign(new Error(`${code}: ${syscall}`), { code, syscall })
}

/** What every file handle has its methods from. */
export async function handlePrototype(): Promise<FileHandle> {
  const handle = await open(join(temporaryDirectory(), 'any'), 'w')
  await handle.close()
  return Object.getPrototypeOf(handle) as FileHandle
}

type Write = (bytes: Uint8Array, offset: number, length: number, position: number) => Promise<{ bytesWritten: number }>

/** Every write takes some bytes of what it is given, and then there is no more space. */
export async function fullDisk(code: string, bytesTaken: number): Promise<void> {
  const prototype = await handlePrototype()
  const real = prototype.write as unknown as Write
  const write: Write = async function (this: FileHandle, bytes, offset, _length, position) {
    if (offset > 0) throw systemError(code, 'write')
    return real.call(this, bytes, offset, bytesTaken, position)
  }
  vi.spyOn(prototype, 'write').mockImplementation(write as never)
}

/** Writes begin and do not end, until the function that comes back is called. */
export async function hangingDisk(): Promise<() => void> {
  const prototype = await handlePrototype()
  const real = prototype.write as unknown as Write
  let release = (): void => {}
  const back = new Promise<void>(resolve => {
    release = resolve
  })
  const write: Write = async function (this: FileHandle, ...args) {
    await back
    return real.apply(this, args)
  }
  vi.spyOn(prototype, 'write').mockImplementation(write as never)
  return release
}
