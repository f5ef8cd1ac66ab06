/** Repositories of the Hub, and their addresses. */

export type RepoType = 'model' | 'dataset'

export interface Repo {
  readonly type: RepoType
  /** `org/name`; some old ones have a name alone. */
  readonly id: string
}

/** A file of a repository at one commit. */
export interface RepoFile {
  readonly path: string
  readonly size: number
  /** SHA-256 of a large file, as git LFS has it; the id of git's blob of a small one. The cache keeps the content under it. */
  readonly etag: string
}

export const isCommit = (revision: string): boolean => /^[0-9a-f]{40}$/.test(revision)

/** Where a person looks at it. */
export function pageOf({ type, id }: Repo, endpoint: string): string {
  return `${endpoint}/${type === 'dataset' ? 'datasets/' : ''}${id}`
}

export function fileUrl(repo: Repo, commit: string, path: string, endpoint: string): string {
  return `${pageOf(repo, endpoint)}/resolve/${commit}/${path.split('/').map(encodeURIComponent).join('/')}`
}

/** For messages. */
export const kindOf = ({ type }: Repo): string => (type === 'dataset' ? 'data set' : 'model')
