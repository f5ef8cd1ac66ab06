// A small world for setup to run in: temporary directories, archives made by hand, programs that pretend.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { crc32, deflateRawSync } from 'node:zlib'
import { type Report, silentReport as silent } from '../../src/progress/report.js'
import { compiled, repository } from './compiled.js'
import { temporaryDirectory } from './files.js'

export function writeTree(root: string, files: Record<string, string>): string {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}

export interface ZipPart {
  name: string
  content?: string | Buffer
  stored?: boolean
  mode?: number
  /** Writes sizes and offset in the zip64 extra field. */
  wide?: boolean
  lies?: { crc?: number; size?: number }
}

/** A zip archive, byte by byte, so that it can also be a wrong one. */
export function makeZip(parts: ZipPart[], options: { wideEnd?: boolean; comment?: string } = {}): Buffer {
  const pieces: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const part of parts) {
    const name = Buffer.from(part.name)
    const content = Buffer.from(part.content ?? '')
    const body = part.stored ? content : deflateRawSync(content)
    const crc = part.lies?.crc ?? crc32(content)
    const size = part.lies?.size ?? content.length
    const local = Buffer.alloc(30)
    local.writeUInt32LE(0x04034b50, 0)
    local.writeUInt16LE(part.stored ? 0 : 8, 8)
    local.writeUInt16LE(name.length, 26)
    const extra = Buffer.alloc(part.wide ? 28 : 0)
    if (part.wide) {
      extra.writeUInt16LE(1, 0)
      extra.writeUInt16LE(24, 2)
      extra.writeBigUInt64LE(BigInt(size), 4)
      extra.writeBigUInt64LE(BigInt(body.length), 12)
      extra.writeBigUInt64LE(BigInt(offset), 20)
    }
    const central = Buffer.alloc(46)
    central.writeUInt32LE(0x02014b50, 0)
    central.writeUInt16LE(part.stored ? 0 : 8, 10)
    central.writeUInt32LE(crc, 16)
    central.writeUInt32LE(part.wide ? 0xffffffff : body.length, 20)
    central.writeUInt32LE(part.wide ? 0xffffffff : size, 24)
    central.writeUInt16LE(name.length, 28)
    central.writeUInt16LE(extra.length, 30)
    central.writeUInt32LE(((part.mode ?? 0o100644) << 16) >>> 0, 38)
    central.writeUInt32LE(part.wide ? 0xffffffff : offset, 42)
    pieces.push(local, name, body)
    directory.push(central, name, extra)
    offset += local.length + name.length + body.length
  }
  const central = Buffer.concat(directory)
  const end64 = Buffer.alloc(options.wideEnd ? 76 : 0)
  if (options.wideEnd) {
    end64.writeUInt32LE(0x06064b50, 0)
    end64.writeBigUInt64LE(44n, 4)
    end64.writeBigUInt64LE(BigInt(parts.length), 32)
    end64.writeBigUInt64LE(BigInt(central.length), 40)
    end64.writeBigUInt64LE(BigInt(offset), 48)
    end64.writeUInt32LE(0x07064b50, 56)
    end64.writeBigUInt64LE(BigInt(offset + central.length), 64)
  }
  const comment = Buffer.from(options.comment ?? '')
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(options.wideEnd ? 0xffff : parts.length, 10)
  end.writeUInt32LE(options.wideEnd ? 0xffffffff : central.length, 12)
  end.writeUInt32LE(options.wideEnd ? 0xffffffff : offset, 16)
  end.writeUInt16LE(comment.length, 20)
  return Buffer.concat([...pieces, central, end64, end, comment])
}

/** The files of a libtorch that setup looks at. */
export function libtorchFiles(version = '2.13.0', options: { cuda?: boolean } = {}): Record<string, string> {
  const [major, minor, patch] = version.split('.')
  return {
    'include/torch/headeronly/version.h': `#define TORCH_VERSION_MAJOR ${major}\n#define TORCH_VERSION_MINOR ${minor}\n#define TORCH_VERSION_PATCH ${patch}\n`,
    'lib/libtorch_cpu.so': 'cpu',
    'lib/libtorch.so': 'torch',
    'lib/libc10.so': 'c10 _ZN3c106detail14torchCheckFailEPKcS2_jRKNSt7__cxx1112basic_string',
    'lib/libgomp.so.1': 'gomp',
    ...(options.cuda && { 'lib/libtorch_cuda.so': 'cuda', 'lib/libc10_cuda.so': 'c10 cuda' }),
  }
}

export function wheelParts(name: string, files: Record<string, string>, requires: string[] = []): ZipPart[] {
  const all = {
    ...files,
    [`${name}.dist-info/METADATA`]: `Name: ${name}\n${requires.map(line => `Requires-Dist: ${line}\n`).join('')}\nRequires-Dist: prose\n`,
  }
  const digest = (text: string) => createHash('sha256').update(text).digest('base64url')
  const record = Object.entries(all).map(([path, text]) => `${path},sha256=${digest(text)},${text.length}\r\n`)
  return [
    ...Object.entries(all).map(([path, content]) => ({ name: path, content })),
    { name: `${name}.dist-info/RECORD`, content: `${record.join('')}${name}.dist-info/RECORD,,\r\n` },
  ]
}

export const torchRequires = [
  'filelock',
  'cuda-toolkit[cublas,cudart,cupti]==13.0.3; platform_system == "Linux"',
  'nvidia-cudnn-cu13==9.20.0.48; platform_system == "Linux"',
  'triton==3.7.1; platform_system == "Linux"',
]

export function torchWheel(options: { cuda?: boolean } = {}): ZipPart[] {
  const files = Object.entries(libtorchFiles('2.13.0', { cuda: true, ...options }))
  return wheelParts(
    'torch-2.13.0',
    Object.fromEntries([...files.map(([path, text]) => [`torch/${path}`, text]), ['torch/__init__.py', 'python']]),
    torchRequires,
  )
}

/** A directory of programs that stands for the whole PATH. */
export interface Programs {
  path: string
  add(name: string, javascript: string): void
  /** The command lines the programs were called with. */
  calls(): string[]
}

export function programs(): Programs {
  const path = temporaryDirectory()
  const log = join(path, 'calls.log')
  return {
    path,
    add(name, javascript) {
      // CommonJS, whatever package.json is near; called with node's own path, because PATH holds nothing else.
      writeFileSync(
        join(path, name),
        `#!${process.execPath}\nconst fs = require('node:fs'), { join } = require('node:path')\nconst args = process.argv.slice(2)\nfs.appendFileSync(${JSON.stringify(log)}, ['${name}', ...args].join(' ') + '\\n')\n${javascript}\n`,
      )
      chmodSync(join(path, name), 0o755)
    },
    calls() {
      try {
        return readFileSync(log, 'utf8').trim().split('\n')
      } catch {
        return []
      }
    },
  }
}

/** pip that "downloads" the wheels of a folder: those whose name starts like a requirement. */
export function addPip(to: Programs, wheels: string, options: { delayMs?: number } = {}): void {
  to.add(
    'pip3',
    `if (args[0] === '--version') { console.log('pip 99'); process.exit(0) }
    const into = args.find(arg => arg.startsWith('--dest=')).slice(7)
    const wanted = args.filter(arg => !arg.startsWith('-') && arg !== 'download').map(arg => arg.split(/[=\\[; ]/)[0].replaceAll('-', '_'))
    setTimeout(() => {
      for (const file of fs.readdirSync(${JSON.stringify(wheels)}))
        if (wanted.some(name => file.startsWith(name))) fs.copyFileSync(join(${JSON.stringify(wheels)}, file), join(into, file))
    }, ${options.delayMs ?? 0})`,
  )
}

/** A compiler that takes no time: objects are empty, and what it links is an addon that does nothing. */
export function addCompiler(to: Programs, options: { compile?: string; addon?: string } = {}): void {
  const addon = options.addon ?? emptyAddon()
  to.add(
    'g++',
    `if (args[0] === '--version') { console.log('g++ (pretending) 12.0\\nmore'); process.exit(0) }
    const out = args[args.indexOf('-o') + 1]
    if (args.includes('-fsyntax-only')) process.exit(0)
    if (args.includes('-c')) { ${options.compile ?? ''}; fs.writeFileSync(out, '') }
    else fs.copyFileSync(${JSON.stringify(addon)}, out)`,
  )
}

let addonPath: string | undefined

/** A real, loadable addon, made with this machine's compiler: without one there would be no bridge to test either. */
export function emptyAddon(): string {
  if (addonPath) return addonPath
  // For all test files that share this process.
  const folder = mkdtempSync(join(tmpdir(), 'whetstone-addon-'))
  const source = join(folder, 'empty.cc')
  addonPath = join(folder, 'empty.node')
  writeFileSync(
    source,
    'extern "C" __attribute__((visibility("default"))) void *napi_register_module_v1(void *, void *exports) { return exports; }\n',
  )
  const [command = 'g++', ...args] = (process.env.CXX ?? 'g++').split(' ')
  execFileSync(command, [...args, '-shared', '-fPIC', '-o', addonPath, source])
  return addonPath
}

export function silentReport(): Report & { lines: string[] } {
  const lines: string[] = []
  return { ...silent, lines, line: text => void lines.push(text) }
}

/** A package whose setup can be run in processes: without sources, headers and dependencies that it does not need. */
export function compiledSetup(): string {
  const folder = temporaryDirectory()
  writeTree(folder, {
    'package.json': '{"type":"module"}',
    'native/bridge.cc': '// nothing\n',
    'node_modules/node-api-headers/index.js': 'module.exports = { include_dir: "/headers" }',
  })
  // What setup itself imports.
  for (const name of ['zod', 'yaml'])
    symlinkSync(realpathSync(join(repository, 'node_modules', name)), join(folder, 'node_modules', name))
  cpSync(join(compiled(), 'dist'), join(folder, 'dist'), { recursive: true })
  return folder
}
