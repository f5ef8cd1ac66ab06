/** What clients call the weights; an engine counts them. */
import type { PolicyVersion } from '../../model/index.js'

export class VersionNames {
  private readonly names = new Map<PolicyVersion, string>()

  constructor(private latest: PolicyVersion) {
    this.names.set(latest, 'default')
  }

  /** Of the weights that were named last. */
  get current(): string {
    return this.names.get(this.latest)!
  }

  /** The number under which an engine counts weights of this name from now on. */
  add(name: string): PolicyVersion {
    if (name !== this.current) this.names.set(++this.latest, name)
    return this.latest
  }

  of(version: PolicyVersion): string {
    return this.names.get(version) ?? `${version}`
  }
}
