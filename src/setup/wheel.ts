import { BrokenArchiveError, readWhole, type Zip } from './zip.js'

/** What a wheel says about itself. */
interface WheelFacts {
  /** SHA-256 in base64url by file name, from RECORD. */
  digests: Map<string, string>
  /** The `Requires-Dist` lines of METADATA, with their markers. */
  requires: string[]
}

export async function readWheel(zip: Zip): Promise<WheelFacts> {
  const text = async (file: string) => {
    const entry = zip.entries.find(
      ({ name }) => /^[^/]+\.dist-info\//.test(name) && name.endsWith(`.dist-info/${file}`),
    )
    if (!entry) throw new BrokenArchiveError(`it has no ${file}: it is not a wheel`)
    return (await readWhole(zip, entry)).toString('utf8')
  }
  return { digests: parseRecord(await text('RECORD')), requires: parseRequires(await text('METADATA')) }
}

export function parseRecord(text: string): Map<string, string> {
  const digests = new Map<string, string>()
  for (const line of text.split(/\r?\n/)) {
    const match = line.match(/^(.*),sha256=([\w-]+)=*,\d*$/)
    if (match?.[1] && match[2]) digests.set(match[1].replace(/^"(.*)"$/, '$1').replaceAll('""', '"'), match[2])
  }
  return digests
}

export function parseRequires(metadata: string): string[] {
  const head = metadata.split(/\r?\n\r?\n/, 1)[0] ?? ''
  return head.split(/\r?\n/).flatMap(line => line.match(/^Requires-Dist:\s*(.+)$/)?.[1] ?? [])
}

/** The libraries from NVIDIA among a torch wheel's requirements. pip itself decides on their markers. */
export function cudaRequirements(requires: readonly string[]): string[] {
  const chosen = requires.filter(line => /^(nvidia-|cuda-toolkit\b)/.test(line))
  // The CUDA 13 runtime headers include `crt/`, which has a wheel of its own that torch does not ask for.
  const toolkit = requires.map(toolkitVersion).find(version => version !== undefined)
  return toolkit ? [...chosen, `cuda-toolkit[crt]==${toolkit}`] : chosen
}

/**
 * What a CUDA build of torch needs for CPU work: `libtorch_cpu.so` itself is linked against the CUDA runtime and its
 * profiling library. Empty for a CPU build.
 */
export function cpuRequirements(requires: readonly string[]): string[] {
  const toolkit = requires.map(toolkitVersion).find(version => version !== undefined)
  if (toolkit) {
    const major = toolkit.split('.')[0]
    return [`nvidia-cuda-runtime==${major}.*`, `nvidia-cuda-cupti==${major}.*`]
  }
  // Before CUDA 13 the packages carried the version in their names: nvidia-cuda-runtime-cu12==12.8.90; marker
  return requires.filter(line => /^nvidia-cuda-(runtime|cupti)\b/.test(line))
}

function toolkitVersion(requirement: string): string | undefined {
  return requirement.match(/^cuda-toolkit(?:\[[^\]]*\])?==([\d.]+)/)?.[1]
}

/** Which files of a wheel are kept. They stay at their paths: the libraries find each other relative to their own. */
export function wheelPlace(options: { cuda: boolean }): (name: string) => string | undefined {
  return name => {
    if (/\.dist-info\//.test(name)) return /license|notice/i.test(name) ? name : undefined
    if (/^nvidia\//.test(name)) return name
    if (/^torch\/include\//.test(name)) return name
    if (!/^torch(\/lib|\.libs)\//.test(name)) return undefined
    if (options.cuda) return name
    return /\.so(\.|$)/.test(name) && !/cuda|nvrtc|nvshmem|libtorch_python|libshm|global_deps/.test(name)
      ? name
      : undefined
  }
}
