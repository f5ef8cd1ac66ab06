import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

export const oldestVersion = '2.4'
/** The version that is fetched where none is found. */
export const fetchedVersion = '2.13.0'

/** What a libtorch directory (one with `include/` and `lib/` in it) turned out to hold. */
export interface Libtorch {
  path: string
  version: string
  cuda: boolean
  /** Which std::string its symbols speak: Python wheels up to 2.5 were built with the old one. */
  cxx11Abi: boolean
}

export type Inspection = { kind: 'usable'; libtorch: Libtorch } | { kind: 'unusable'; reason: string }

export function inspectLibtorch(path: string): Inspection {
  const lib = join(path, 'lib')
  for (const needed of ['include', 'lib/libtorch_cpu.so', 'lib/libc10.so']) {
    if (!existsSync(join(path, needed))) return { kind: 'unusable', reason: `there is no ${needed} in ${path}` }
  }
  const version = readVersion(path)
  if (!version) return { kind: 'unusable', reason: `the version of ${path} is unknown` }
  if (!atLeast(version, oldestVersion))
    return { kind: 'unusable', reason: `${path} is ${version}, and ${oldestVersion} or newer is needed` }
  return {
    kind: 'usable',
    libtorch: {
      path,
      version,
      cuda: existsSync(join(lib, 'libtorch_cuda.so')) && existsSync(join(lib, 'libc10_cuda.so')),
      cxx11Abi: !readFileSync(join(lib, 'libc10.so')).includes('_ZN3c106detail14torchCheckFailEPKcS2_jRKSs'),
    },
  }
}

function readVersion(path: string): string | undefined {
  const read = (file: string) => (existsSync(join(path, file)) ? readFileSync(join(path, file), 'utf8') : '')
  // 2.9 moved the numbers to headeronly/; the older place then only includes it.
  for (const header of ['include/torch/headeronly/version.h', 'include/torch/csrc/api/include/torch/version.h']) {
    const text = read(header)
    const parts = ['MAJOR', 'MINOR', 'PATCH'].map(
      part => text.match(new RegExp(`TORCH_VERSION_${part}\\s+(\\d+)`))?.[1],
    )
    if (parts.every(part => part !== undefined)) return parts.join('.')
  }
  return (
    read('build-version').trim() ||
    read('version.py').match(/^__version__\s*(?::[^=]*)?=\s*['"]([^'"]+)['"]/m)?.[1] ||
    undefined
  )
}

export function atLeast(version: string, least: string): boolean {
  const numbers = (text: string) => text.split(/[^\d]+/).map(Number)
  const [major = 0, minor = 0] = numbers(version)
  const [leastMajor = 0, leastMinor = 0] = numbers(least)
  return major > leastMajor || (major === leastMajor && minor >= leastMinor)
}

/** `nvidia/<part>/<folder>` directories beside a libtorch that came as wheels. */
export function nvidiaFolders(path: string, folder: 'include' | 'lib'): string[] {
  const nvidia = join(dirname(path), 'nvidia')
  if (!existsSync(nvidia)) return []
  return readdirSync(nvidia)
    .map(part => join(nvidia, part, folder))
    .filter(found => existsSync(found) && statSync(found).isDirectory())
    .sort()
}
