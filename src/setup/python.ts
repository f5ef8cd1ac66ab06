import { type ProcessResult, runProcess } from './process.js'

/** Asks for torch's place and version without importing it, which would take seconds and might fail for reasons of its own. */
const question = `
import importlib.util, json, os, re
spec = importlib.util.find_spec('torch')
if spec and spec.submodule_search_locations:
    folder = list(spec.submodule_search_locations)[0]
    file = os.path.join(folder, 'version.py')
    text = open(file).read() if os.path.exists(file) else ''
    match = re.search(r"__version__\\s*(?::[^=]*)?=\\s*['\\"]([^'\\"]+)", text)
    print(json.dumps({'folder': folder, 'version': match and match.group(1)}))
`

interface PythonTorch {
  python: string
  folder: string
  version: string
}

/** The `torch` that `python3` on the PATH would import, if it has one. */
export async function findPythonTorch(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<PythonTorch | undefined> {
  for (const python of ['python3', 'python']) {
    const result = await runProcess(python, ['-c', question], { env, signal, timeoutMs: 15_000 })
    const answer = parseAnswer(result)
    if (answer) return { python, ...answer }
  }
  return undefined
}

function parseAnswer(result: ProcessResult): { folder: string; version: string } | undefined {
  if (result.kind === 'missing' || result.code !== 0) return undefined
  try {
    const { folder, version } = JSON.parse(result.stdout) as { folder?: unknown; version?: unknown }
    return typeof folder === 'string' && typeof version === 'string' ? { folder, version } : undefined
  } catch {
    return undefined // No torch, or a start-up script that prints things.
  }
}
