// Numbers every point at which a process can die between two states of the disk, and dies at one of them:
//
//   node --import crash-points.mjs script.mjs
//
//   CRASH_AT=n        SIGKILL at point n, from 1; without it the process runs through
//   CRASH_COUNT=file  gets the number of points when the process ends by itself
//   CRASH_UNDER=dir   only what is done to files in this directory counts (without it, everything)
//   CRASH_LOG=file    gets a line for each point as it is reached: its number, what was called, on which file
//
// A point is the moment before each call that changes what is on the disk (open for writing, write, rename, link, unlink, rm,
// mkdir, truncate, fsync, fdatasync), and for each write also the moment when half of its bytes are there. Tests add points of their
// own, such as optimiser steps, by `globalThis.crashPoint('step')`.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { resolve, sep } from 'node:path'

const at = Number(process.env.CRASH_AT ?? 0)
const under = process.env.CRASH_UNDER && resolve(process.env.CRASH_UNDER)
const { CRASH_COUNT: countFile, CRASH_LOG: logFile } = process.env
const { writeFileSync, appendFileSync } = fs
let points = 0
/** Whether this module itself is writing: Node's own functions call each other through what is patched here. */
let own = false
function unnoticed(work) {
  own = true
  try {
    work()
  } finally {
    own = false
  }
}

function die() {
  process.kill(process.pid, 'SIGKILL')
  // The signal arrives when it arrives; nothing more happens here until then.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000)
}

/** Whether the next point is the last one. */
function reach(what, path) {
  if (own) return false
  points++
  if (logFile) unnoticed(() => appendFileSync(logFile, `${points} ${what} ${path ?? ''}\n`))
  return points === at
}

function point(what, path) {
  if (reach(what, path)) die()
}

globalThis.crashPoint = name => point(name)

const counts = path => {
  if (path === undefined) return under === undefined
  if (typeof path === 'number') return countsHandle(path)
  const whole = resolve(path instanceof URL ? path.pathname : String(path))
  return under === undefined || whole === under || whole.startsWith(under + sep)
}

/** Paths of open files: of handles, and of numbers. */
const opened = new Map()
const countsHandle = fd => opened.has(fd) || under === undefined
const changes = flags => (typeof flags === 'number' ? (flags & 3) !== 0 : flags !== undefined && !/^rs?$/.test(flags))

const half = bytes => bytes.subarray(0, bytes.length >> 1)
const bytesOf = data =>
  typeof data === 'string' ? Buffer.from(data) : Buffer.from(data.buffer, data.byteOffset, data.byteLength)

// ---- fs.promises and file handles

const { promises } = fs
const real = { ...promises }

for (const name of ['rename', 'link', 'symlink', 'unlink', 'rm', 'rmdir', 'mkdir', 'truncate', 'copyFile', 'cp'])
  promises[name] = (...args) => {
    const target = ['rename', 'link', 'symlink', 'copyFile', 'cp'].includes(name) ? args[1] : args[0]
    if (counts(target)) point(name, target)
    return real[name](...args)
  }

for (const name of ['writeFile', 'appendFile'])
  promises[name] = async (file, data, options) => {
    if (typeof file === 'object' && 'fd' in file) return file[name](data, options)
    if (counts(file)) {
      point(`${name}`, file)
      if (reach(`${name}, half`, file)) {
        if (typeof data === 'string' || ArrayBuffer.isView(data)) await real[name](file, half(bytesOf(data)))
        die()
      }
    }
    return real[name](file, data, options)
  }

promises.open = async (path, flags, ...rest) => {
  const counted = changes(flags) && counts(path)
  if (counted) point('open', path)
  const handle = await real.open(path, flags, ...rest)
  patchHandle(Object.getPrototypeOf(handle))
  if (counts(path)) opened.set(handle.fd, String(path))
  return handle
}

let patched = false
function patchHandle(prototype) {
  if (patched) return
  patched = true
  const { write, writev, writeFile, appendFile, sync, datasync, truncate, close } = prototype
  const name = handle => opened.get(handle.fd)
  const before = (what, original) =>
    function (...args) {
      if (countsHandle(this.fd)) point(what, name(this))
      return original.apply(this, args)
    }
  prototype.sync = before('fsync', sync)
  prototype.datasync = before('fdatasync', datasync)
  prototype.truncate = before('ftruncate', truncate)
  prototype.writev = before('writev', writev)
  prototype.write = async function (data, offset, length, position) {
    if (countsHandle(this.fd)) {
      point('write', name(this))
      if (reach('write, half', name(this))) {
        if (typeof data === 'string') await write.call(this, half(bytesOf(data)), 0, undefined, offset)
        else {
          const {
            offset: from = 0,
            length: count,
            position: place,
          } = typeof offset === 'object' && offset !== null ? offset : { offset, length, position }
          const all = bytesOf(data).subarray(from, count === undefined ? undefined : from + count)
          await write.call(this, half(all), 0, undefined, place)
        }
        die()
      }
    }
    return write.call(this, data, offset, length, position)
  }
  for (const [key, original] of Object.entries({ writeFile, appendFile }))
    prototype[key] = async function (data, options) {
      if (countsHandle(this.fd)) {
        point(key, name(this))
        if (reach(`${key}, half`, name(this))) {
          if (typeof data === 'string' || ArrayBuffer.isView(data)) await original.call(this, half(bytesOf(data)))
          die()
        }
      }
      return original.call(this, data, options)
    }
  prototype.close = function () {
    opened.delete(this.fd)
    return close.call(this)
  }
}

// ---- the calls that wait, and those with callbacks (streams use them)

for (const name of [
  'rename',
  'link',
  'unlink',
  'rm',
  'rmdir',
  'mkdir',
  'truncate',
  'copyFile',
  'writeFile',
  'appendFile',
])
  for (const key of [`${name}Sync`, name]) {
    const original = fs[key]
    fs[key] = (...args) => {
      const target = ['rename', 'link', 'copyFile'].includes(name) ? args[1] : args[0]
      if (counts(target)) point(key, target)
      return original(...args)
    }
  }
for (const name of ['write', 'writev', 'fsync', 'fdatasync', 'ftruncate'])
  for (const key of [`${name}Sync`, name]) {
    const original = fs[key]
    fs[key] = (fd, ...args) => {
      // 1 and 2 are the console.
      if (fd > 2 && countsHandle(fd)) point(key, opened.get(fd))
      return original(fd, ...args)
    }
  }
for (const key of ['openSync', 'open']) {
  const original = fs[key]
  fs[key] = (path, flags, ...rest) => {
    if (changes(flags) && counts(path)) point(key, path)
    if (key === 'open') {
      const done = rest.pop() ?? flags
      return original(path, flags, ...rest, (error, fd) => {
        if (!error && counts(path)) opened.set(fd, String(path))
        done(error, fd)
      })
    }
    const fd = original(path, flags, ...rest)
    if (counts(path)) opened.set(fd, String(path))
    return fd
  }
}

syncBuiltinESMExports()

if (countFile) process.on('exit', () => unnoticed(() => writeFileSync(countFile, String(points))))
