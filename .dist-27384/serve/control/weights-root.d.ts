export declare class WeightsRoot {
    /** As it was given, and with its links followed. */
    private readonly given;
    private readonly real;
    private constructor();
    static open(directory: string): Promise<WeightsRoot>;
    /** A directory inside, by its real path. `path`: absolute, or from the root on. */
    resolve(path: string): Promise<string>;
    /** Files of the directory that lie elsewhere, behind a link. */
    private refuseStrays;
}
