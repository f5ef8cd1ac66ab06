import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runChild } from '../support/child.js'
import { compiled } from '../support/compiled.js'

test('the garbage collector finds forgotten tensors, programs, functions and generators, and is told of their bytes', async () => {
  const { code, output } = await runChild(
    new URL('./children/collect.mjs', import.meta.url),
    [join(compiled(), 'dist/tensor/index.js')],
    { flags: ['--expose-gc'] },
  )
  expect(output).toBe('')
  expect(code).toBe(0)
})
