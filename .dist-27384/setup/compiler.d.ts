export interface Compiler {
    command: string;
    /** What `CXX` holds beyond the program: `ccache g++` is a common value. */
    args: string[];
    /** The first line of `--version`. */
    version: string;
}
export declare function findCompiler(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<Compiler>;
