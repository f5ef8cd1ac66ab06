import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findPythonTorch } from '../../src/setup/python.js'
import { temporaryDirectory } from '../support/files.js'
import { programs, writeTree } from '../support/setup.js'

const signal = new AbortController().signal

function hasPython(): boolean {
  try {
    execFileSync('python3', ['-c', ''])
    return true
  } catch {
    return false
  }
}

test.skipIf(!hasPython())('a real Python is asked where torch is without importing it', async () => {
  const site = writeTree(temporaryDirectory(), {
    'torch/__init__.py': 'raise RuntimeError("imported")',
    'torch/version.py': "from typing import Optional\n__version__: str = '2.9.1+cpu'\n",
  })
  expect(await findPythonTorch({ ...process.env, PYTHONPATH: site }, signal)).toEqual({
    python: 'python3',
    folder: join(site, 'torch'),
    version: '2.9.1+cpu',
  })
})

test('no Python, a Python without torch, a Python that fails or prints something else', async () => {
  const path = programs()
  expect(await findPythonTorch({ PATH: path.path }, signal)).toBeUndefined()
  for (const script of ['', 'process.exit(3)', 'console.log("welcome")']) {
    path.add('python3', script)
    expect(await findPythonTorch({ PATH: path.path }, signal)).toBeUndefined()
  }
})
