import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { SetupError } from './errors.js'

export type Platform = 'linux-x64' | 'linux-arm64'

export function supportedPlatform(platform: string, arch: string): Platform {
  const name = `${platform}-${arch}`
  if (name === 'linux-x64' || name === 'linux-arm64') return name
  throw new SetupError(
    `Whetstone runs on Linux (x86-64 and arm64); this is ${name}.`,
    platform === 'win32'
      ? 'Install it inside WSL 2; GPUs work there too.'
      : 'Use a Linux machine, virtual machine or container.',
  )
}

/** The driver decides whether to download CUDA: without a driver the CUDA libraries are 4 GB without use. */
function hasNvidiaDriver(env: NodeJS.ProcessEnv): boolean {
  const libraries = [
    '/usr/lib/x86_64-linux-gnu',
    '/usr/lib/aarch64-linux-gnu',
    '/usr/lib64',
    '/usr/lib/wsl/lib',
    '/usr/local/nvidia/lib64',
  ]
  return (
    existsSync('/proc/driver/nvidia/version') ||
    libraries.some(folder => existsSync(join(folder, 'libcuda.so.1'))) ||
    (env.PATH ?? '').split(delimiter).some(folder => folder && existsSync(join(folder, 'nvidia-smi')))
  )
}

/** `WHETSTONE_CUDA` overrules the driver: `1` when building an image for GPU machines, `0` to stay small. */
export function wantsCuda(env: NodeJS.ProcessEnv): { cuda: boolean; why: string } {
  switch (env.WHETSTONE_CUDA) {
    case '1':
      return { cuda: true, why: 'WHETSTONE_CUDA=1' }
    case '0':
      return { cuda: false, why: 'WHETSTONE_CUDA=0' }
    case undefined:
    case '':
      return hasNvidiaDriver(env)
        ? { cuda: true, why: 'there is an NVIDIA driver' }
        : { cuda: false, why: 'there is no NVIDIA driver' }
    default:
      throw new SetupError(`WHETSTONE_CUDA is "${env.WHETSTONE_CUDA}".`, 'Set it to 1 or 0, or unset it.')
  }
}
