// Plain JavaScript, because it makes the JavaScript: everything else of setup is TypeScript in src/setup.

import { spawn } from 'node:child_process'
import { cpSync, existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Whether this is a clone. A published package has src/ too, for source maps, and nothing to compile it with. */
export const isClone = existsSync(join(root, 'src')) && existsSync(join(root, 'tsconfig.build.json'))

/**
 * In a clone, compiles src/ to dist/; a published package brings its dist/. Throws an Error whose message says what to do.
 * `flags` go to the compiler.
 */
export async function buildJavaScript({ flags = [] } = {}) {
  const source = join(root, 'src')
  const target = join(root, 'dist')
  const tsc = isClone ? findTypeScript() : undefined
  if (!tsc) {
    if (existsSync(join(target, 'cli', 'main.js'))) return
    throw new Error(
      'TypeScript is not installed, so src/ cannot be compiled.\nRun `npm ci` with the development dependencies.',
    )
  }
  console.error('Compiling the TypeScript')
  // Beside dist/ and as deep, so that source maps point to src/; moved into place once it is complete.
  const making = join(root, `.dist-${process.pid}`)
  try {
    await compile(tsc, ['--outDir', making, ...flags], making)
    // CUDA sources are read at run time from beside the module that launches them.
    for (const name of readdirSync(source, { recursive: true, encoding: 'utf8' }))
      if (/\.cuh?$/.test(name)) cpSync(join(source, name), join(making, name))
    await bundlePage(join(source, 'dashboard', 'page'), join(making, 'dashboard', 'static'))
    rmSync(target, { recursive: true, force: true })
    renameSync(making, target)
  } finally {
    rmSync(making, { recursive: true, force: true })
  }
}

/** The dashboard's page runs in a browser: all of it is one script and one style sheet, which ask for nothing from elsewhere. */
async function bundlePage(from, to) {
  const { build } = await import('esbuild')
  await build({
    entryPoints: { page: join(from, 'main.tsx') },
    outdir: to,
    bundle: true,
    minify: true,
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    logLevel: 'error',
    // Its own config has settings for the checker alone.
    tsconfigRaw: '{}',
  })
  cpSync(join(from, 'index.html'), join(to, 'index.html'))
}

function findTypeScript() {
  try {
    return join(createRequire(join(root, 'package.json')).resolve('typescript/package.json'), '../bin/tsc')
  } catch {
    return undefined
  }
}

function compile(tsc, flags, outDir) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [tsc, '-p', 'tsconfig.build.json', ...flags], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', text => {
      output += text
    })
    const interrupt = () => {
      child.kill()
      rmSync(outDir, { recursive: true, force: true })
      process.exit(130)
    }
    process.once('SIGINT', interrupt)
    child.on('error', reject)
    child.on('close', code => {
      process.off('SIGINT', interrupt)
      if (code === 0) resolve()
      else reject(new Error(`The TypeScript does not compile:\n${output.trim().split('\n').slice(0, 20).join('\n')}`))
    })
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await buildJavaScript({ flags: process.argv.slice(2) })
  } catch (error) {
    console.error(error.message)
    process.exitCode = 1
  }
}
