/** A folder with a model, data and rewards, right and wrong, and what commands say that are given them. */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect } from 'vitest'
import { stringify } from 'yaml'
import { main } from '../../src/cli/main.js'
import { initModel, newConfig } from '../../src/model/index.js'
import { capturedOutput } from '../support/cli.js'
import { temporaryDirectory } from '../support/files.js'

export interface Said {
  readonly code: number
  readonly message: string
}

export interface Refusals {
  readonly at: (name: string) => string
  /** What a command says at its end. It may leave nothing, and show no stack. */
  said(args: readonly string[]): Promise<Said>
  /** What a verb says to a config, or to a file of the folder: the dry run and the run, each. */
  both(verb: string, values: object | string, flags?: readonly string[]): Promise<{ dry: Said; run: Said }>
}

/** Made once for the file of tests that calls it. */
export function refusals(): Refusals {
  const folder = temporaryDirectory()
  const at = (name: string): string => join(folder, name)
  const printed = capturedOutput()
  beforeAll(() => fill(at))
  const everything = (): string[] => readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()

  const said = async (args: readonly string[]): Promise<Said> => {
    printed.clear()
    const before = everything()
    const code = await main([...args])
    expect(everything()).toEqual(before)
    // A dry run may show what memory the models take first.
    const message = printed.stderr.slice(printed.stderr.indexOf('whetstone: ')).replaceAll(`${folder}/`, '')
    expect(message).not.toMatch(/^ {4}at /m)
    return { code, message }
  }
  return {
    at,
    said,
    async both(verb, values, flags = []) {
      const file = typeof values === 'string' ? at(values) : at('config.yaml')
      if (typeof values !== 'string') writeFileSync(file, stringify(JSON.parse(JSON.stringify(values))))
      const args = [...verb.split(' '), '--config', file, ...flags]
      return { dry: await said([...args, '--dry-run']), run: await said(args) }
    },
  }
}

async function fill(at: (name: string) => string): Promise<void> {
  const lines = (name: string, rows: readonly unknown[]): void =>
    writeFileSync(at(name), rows.map(row => `${JSON.stringify(row)}\n`).join(''))
  const tokenizer = fileURLToPath(new URL('../fixtures/tokenizer', import.meta.url))
  const shape = { hidden: 16, intermediate: 24, layers: 1, heads: 2, kvHeads: 1, headDim: 8, context: 64, tied: true }
  const made = { seed: 0, dtype: 'float32', tokenizer, tokens: {} } as const
  await initModel({ ...made, config: newConfig('qwen2', { ...shape, vocabSize: 2000 }), out: at('model') })
  await initModel({ ...made, config: newConfig('qwen2', { ...shape, vocabSize: 100 }), out: at('small') })
  const changed = (name: string, change: (file: (name: string) => string) => void): void => {
    cpSync(at('model'), at(name), { recursive: true })
    change(file => at(`${name}/${file}`))
  }
  const asDirectory = (file: string): void => {
    rmSync(file)
    mkdirSync(file)
  }
  changed('no-config', file => rmSync(file('config.json')))
  changed('misshapen', file => {
    const raw = JSON.parse(readFileSync(file('config.json'), 'utf8')) as Record<string, unknown>
    writeFileSync(file('config.json'), JSON.stringify({ ...raw, intermediate_size: 32 }))
  })
  changed('cut', file => {
    const bytes = readFileSync(file('model.safetensors'))
    writeFileSync(file('model.safetensors'), bytes.subarray(0, bytes.length - 100))
  })
  changed('no-tokenizer', file => rmSync(file('tokenizer.json')))
  changed('config-directory', file => asDirectory(file('config.json')))
  changed('tokenizer-directory', file => asDirectory(file('tokenizer.json')))
  changed('weights-directory', file => asDirectory(file('model.safetensors')))
  changed('bad-template', file => {
    if (existsSync(file('chat_template.jinja'))) rmSync(file('chat_template.jinja'))
    const config = JSON.parse(readFileSync(file('tokenizer_config.json'), 'utf8')) as Record<string, unknown>
    const chat_template = '{% for message in messages %}{{ message.content }'
    writeFileSync(file('tokenizer_config.json'), JSON.stringify({ ...config, chat_template }))
  })
  lines('rows.jsonl', [{ prompt: 'Hello', completion: ' there' }])
  lines('pairs.jsonl', [{ prompt: 'Hello', chosen: 'there', rejected: 'what' }])
  lines('prompts.jsonl', [{ prompt: 'Hello' }])
  lines(
    'many.jsonl',
    Array.from({ length: 12 }, (_, i) => ({ prompt: `Hello ${i}`, completion: ' there' })),
  )
  lines(
    'many-pairs.jsonl',
    Array.from({ length: 12 }, (_, i) => ({ prompt: `${i}`, chosen: 'a', rejected: 'b' })),
  )
  lines('scored.jsonl', [{ prompt: 'Hello', response: ' there' }])
  lines('long.jsonl', [{ prompt: 'Hello '.repeat(200), completion: ' there' }])
  lines('long-pairs.jsonl', [{ prompt: 'Hello', chosen: 'there '.repeat(200), rejected: 'what' }])
  writeFileSync(at('empty.jsonl'), '')
  writeFileSync(at('broken.jsonl'), '{"prompt": "Hello", "completion": " there"}\n{"prompt": \n')
  writeFileSync(at('bytes.jsonl'), Uint8Array.of(0xff, 0xfe, 0, 1, 10))
  writeFileSync(at('reward.ts'), 'export default () => 1\n')
  writeFileSync(at('broken.ts'), 'export default (\n')
  writeFileSync(at('no-reward.ts'), 'export const reward = 1\n')
  writeFileSync(at('judge.yaml'), 'sources: { judge: { type: model, path: gone } }\n')
  writeFileSync(at('language.yaml'), 'sources: { judge: { type: model, path: model } }\n')
  writeFileSync(at('proto-rewards.yaml'), '__proto__: { a: 1 }\nsources: { judge: { type: rule, rule: exactMatch } }\n')
  writeFileSync(at('file'), '')
  execFileSync('mkfifo', [at('pipe')])
  symlinkSync('loop', at('loop'))
  mkdirSync(at('folder.yaml'))
  mkdirSync(at('folder.jsonl'))
  mkdirSync(at('folder.ts'))
  mkdirSync(at('run'))
  writeFileSync(at('run/config.json'), '{"schemaVersion": 1, "command": "sft"}')
  writeFileSync(at('throws.ts'), "throw new Error('no such variable: HOME_OF_DATA')\n")
  writeFileSync(at('syntax.yaml'), 'model: model\noptimizer:\n  lr: [1\noutput: run\n')
  writeFileSync(at('list.yaml'), '- model\n- output\n')
  const levels = ['a: &a [x, x, x, x, x, x, x, x, x]']
  for (const [i, name] of [...'bcdefghi'].entries())
    levels.push(`${name}: &${name} [${Array(9).fill(`*${'abcdefghi'[i]}`).join(', ')}]`)
  writeFileSync(at('bomb.yaml'), levels.join('\n'))
  writeFileSync(at('itself.yaml'), 'optimizer: &a { lr: 1, more: *a }\n')
  writeFileSync(at('proto.yaml'), '__proto__: { polluted: 1 }\nmodel: model\ndata: rows.jsonl\noutput: new\n')
  writeFileSync(at('names.yaml'), 'constructor: 1\ntoString: 2\nmodel: model\ndata: rows.jsonl\noutput: new\n')
}
