/** The package as `npm pack` makes it, in a project of another directory with the packages that its manifest names and no others. */
import { execFileSync, type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { compiled, repository } from './compiled.js'
import { temporaryDirectory } from './files.js'

export const manifest: { version: string; dependencies: Record<string, string>; exports: Record<string, unknown> } =
  JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'))

export interface PackedProject {
  /** The project. */
  readonly app: string
  /** The package in it. */
  readonly installed: string
  whetstone(...args: string[]): SpawnSyncReturns<string>
}

export function packedProject(): PackedProject {
  const folder = temporaryDirectory()
  const app = join(folder, 'app')
  const installed = join(app, 'node_modules/whetstone')
  execFileSync('npm', ['pack', '--pack-destination', folder, '--offline'], { cwd: compiled(), stdio: 'pipe' })

  mkdirSync(installed, { recursive: true })
  const archive = join(folder, `whetstone-${manifest.version}.tgz`)
  execFileSync('tar', ['xzf', archive, '-C', installed, '--strip-components=1'])
  for (const name of Object.keys(manifest.dependencies)) {
    mkdirSync(dirname(join(app, 'node_modules', name)), { recursive: true })
    symlinkSync(join(repository, 'node_modules', name), join(app, 'node_modules', name))
  }
  // The bridge is compiled by the install script, against the machine's libtorch.
  symlinkSync(join(repository, 'build'), join(installed, 'build'))
  mkdirSync(join(app, 'node_modules/.bin'))
  symlinkSync('../whetstone/install/whetstone.mjs', join(app, 'node_modules/.bin/whetstone'))
  writeFileSync(join(app, 'package.json'), '{"type":"module"}')
  return {
    app,
    installed,
    whetstone: (...args) =>
      spawnSync(process.execPath, [join(app, 'node_modules/.bin/whetstone'), ...args], { cwd: app, encoding: 'utf8' }),
  }
}
