// `npm run test:launchers`: a training under a real torchrun comes to the same bits as with the ranks that the command starts itself.
// WHETSTONE_TORCHRUN names another torchrun than the one on the PATH. Exit code 75 where there is none.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const whetstone = join(root, 'install/whetstone.mjs')
const torchrun = process.env.WHETSTONE_TORCHRUN ?? 'torchrun'
const env = { ...process.env, OMP_NUM_THREADS: '1' }
const directory = mkdtempSync(join(tmpdir(), 'whetstone-launchers-'))

function run(program, args) {
  const { status, error } = spawnSync(program, args, { cwd: directory, env, stdio: 'inherit' })
  if (error?.code === 'ENOENT') {
    console.error(`${program} is not here: install PyTorch, or name it with WHETSTONE_TORCHRUN`)
    process.exit(75)
  }
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with exit code ${status}`)
}

try {
  run(torchrun, ['--help'])
  const rows = Array.from({ length: 8 }, (_, i) => ({ prompt: `Question ${i}?`, completion: 'yes '.repeat(i + 1) }))
  writeFileSync(join(directory, 'rows.jsonl'), rows.map(row => `${JSON.stringify(row)}\n`).join(''))
  const tokenizer = join(root, 'test/fixtures/tokenizer')
  run(process.execPath, [
    whetstone,
    'init',
    '--family',
    'qwen2',
    '--size',
    '2m',
    '--tokenizer',
    tokenizer,
    '--out',
    'model',
  ])
  const options =
    '--model model --data rows.jsonl --device cpu --batch-size 3 --max-length 40 --chat-template none'.split(' ')
  run(process.execPath, [whetstone, 'sft', ...options, '--devices', '2', '--output', 'own'])
  const ranks = ['--no-python', '--nproc-per-node', '2', process.execPath, whetstone]
  run(torchrun, [...ranks, 'sft', ...options, '--output', 'launched'])
  const weights = name => readFileSync(join(directory, name, 'final_model/model.safetensors'))
  if (!weights('own').equals(weights('launched'))) throw new Error('the ranks of torchrun came to other weights')
  console.log('torchrun: the same weights, to the bit')
} finally {
  rmSync(directory, { recursive: true, force: true })
}
