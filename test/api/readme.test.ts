/** The example at the top of README.md, exactly as it is printed. */
import { readFileSync, writeFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'
import { temporaryDirectory } from '../support/files.js'
import { modelDirectory } from '../support/rl.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

test('README.md: the first example trains a model', async () => {
  const [, code] = /^```ts\n(.*?)^```$/ms.exec(readFileSync(join(root, 'README.md'), 'utf8'))!
  expect(code).toContain('grpo({')
  const directory = temporaryDirectory()
  await cp(await modelDirectory(1), join(directory, 'model'), { recursive: true })
  const file = join(directory, 'example.ts')
  writeFileSync(file, `${code!.replace("'whetstone'", `'${join(root, 'src/index.ts')}'`)}\nexport { models }\n`)
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  const before = process.cwd()
  process.chdir(directory)
  try {
    const { models } = (await import(/* @vite-ignore */ file)) as { models: { final: string } }
    expect(readFileSync(join(models.final, 'config.json'), 'utf8')).toContain('Qwen2')
    expect(log.mock.calls.map(([step]) => step as number)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1))
  } finally {
    process.chdir(before)
    log.mockRestore()
  }
})
