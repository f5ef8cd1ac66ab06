/**
 * Real clients against the built server: Python's `openai`, lm-eval's `local-completions` with a local task, and the Vercel
 * AI SDK. And Python's `huggingface_hub` against our cache of the Hub. They are no dependencies of the project. Whichever is not there is named and left out; what is there has to pass.
 *
 *   WHETSTONE_CLIENTS_PYTHON  a Python with openai, lm_eval[api] and transformers (default python3)
 *   WHETSTONE_CLIENTS_NODE    a folder with node_modules/ai and @ai-sdk/openai-compatible (default: this project)
 */
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const project = fileURLToPath(new URL('../..', import.meta.url))
const here = join(project, 'test/clients')
const binary = join(project, 'install/whetstone.mjs')
const python = process.env.WHETSTONE_CLIENTS_PYTHON ?? 'python3'
const nodeFolder = process.env.WHETSTONE_CLIENTS_NODE ?? project

const hasPython = module => spawnSync(python, ['-c', `import ${module}`], { stdio: 'ignore' }).status === 0
function hasNode(...names) {
  try {
    for (const name of names) createRequire(join(nodeFolder, 'index.js')).resolve(name)
    return true
  } catch {
    return false
  }
}

const clients = [
  { name: 'Python openai', isHere: () => hasPython('openai'), wants: 'pip install openai', run: runOpenai },
  {
    name: 'lm-eval',
    isHere: () => hasPython('lm_eval, transformers'),
    wants: 'pip install "lm_eval[api]" transformers',
    run: runLmEval,
  },
  {
    name: 'Python huggingface_hub',
    isHere: () => hasPython('huggingface_hub'),
    wants: 'pip install huggingface_hub',
    run: runHubCache,
  },
  {
    name: 'AI SDK',
    isHere: () => hasNode('ai', '@ai-sdk/openai-compatible'),
    wants: 'npm install ai @ai-sdk/openai-compatible',
    run: runAiSdk,
  },
]
const found = clients.filter(client => client.isHere())
for (const { name, wants } of clients.filter(client => !found.includes(client)))
  console.log(`${name}: not here, so not tried (${wants})`)
if (found.length === 0) {
  console.log('No client is here. Nothing was tested.')
  process.exit(0)
}

const folder = mkdtempSync(join(tmpdir(), 'whetstone-clients-'))
let server
try {
  const model = join(folder, 'tiny')
  run(process.execPath, [
    ...[binary, 'init', '--family', 'qwen2', '--size', '2m', '--context', '512'],
    ...['--tokenizer', join(project, 'test/fixtures/tokenizer'), '--out', model],
  ])
  server = spawn(process.execPath, [binary, 'serve', '--model', model, '--port', '0', '--api-key', 'secret'], {
    stdio: ['ignore', 'inherit', 'pipe'],
  })
  const base = await address(server)
  for (const { name, run: tryOut } of found) {
    const started = performance.now()
    try {
      const said = tryOut({ base, model }).trim().split('\n').at(-1)
      console.log(`${name}: ${said} (${((performance.now() - started) / 1000).toFixed(1)} s)`)
    } catch (error) {
      console.error(`${name}: failed\n${error.message}`)
      process.exitCode = 1
    }
  }
} finally {
  server?.kill('SIGTERM')
  rmSync(folder, { recursive: true, force: true })
}

/** Where the server says it listens. */
function address(child) {
  return new Promise((resolve, reject) => {
    let said = ''
    child.stderr.setEncoding('utf8').on('data', text => {
      said += text
      const match = /at (http:\S+\/v1)/.exec(said)
      if (match) resolve(match[1])
    })
    child.on('exit', code => reject(new Error(`the server ended with ${code}: ${said}`)))
  })
}

/** What a program says; where it fails, that is the end. */
function run(command, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    timeout: 600_000,
    maxBuffer: 1 << 26,
    ...options,
  })
  if (status === 0) return stdout
  throw new Error(`${command} ${args.join(' ')}: ${error ?? `exit ${status}`}\n${stdout}\n${stderr}`)
}

function runOpenai({ base }) {
  return run(python, [join(here, 'openai-client.py'), base])
}

/** It needs no server of ours: the test has one that speaks the Hub's protocol. */
function runHubCache() {
  const vitest = join(project, 'node_modules/vitest/vitest.mjs')
  run(process.execPath, [vitest, 'run', '--project', 'slow', 'test/hub/python-cache.slow.test.ts'], { cwd: project })
  return 'the cache is shared both ways'
}

function runAiSdk({ base }) {
  return run(process.execPath, [join(here, 'ai-sdk.mjs'), base, nodeFolder])
}

/** A task of four questions: its log-likelihoods have to be those of the server's own `prompt_logprobs`. */
function runLmEval({ base, model }) {
  const tasks = join(folder, 'tasks')
  const output = join(folder, 'results')
  const yaml = readFileSync(join(here, 'lm-eval/colours.yaml'), 'utf8')
  mkdirSync(tasks)
  writeFileSync(join(tasks, 'colours.yaml'), yaml.replace('DATA', join(here, 'lm-eval/colours.jsonl')))
  const args = `model=tiny,base_url=${base}/completions,tokenizer=${model},tokenizer_backend=huggingface,num_concurrent=2,max_retries=1,max_length=512`
  run(
    python,
    [
      ...['-m', 'lm_eval', '--model', 'local-completions', '--model_args', args, '--include_path', tasks],
      ...['--tasks', 'whetstone_colours', '--log_samples', '--output_path', output],
    ],
    {
      env: {
        ...process.env,
        OPENAI_API_KEY: 'secret',
        HF_HUB_OFFLINE: '1',
        HF_DATASETS_OFFLINE: '1',
        HF_HOME: join(folder, 'hf'),
        TOKENIZERS_PARALLELISM: 'false',
      },
    },
  )
  return run(python, [join(here, 'lm-eval/check.py'), output, base])
}
