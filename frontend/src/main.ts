import { preloadFirstPicture } from "./features/catalogue/first-picture.ts";
import "./styles.css";

// The first picture and the script that shows it are loaded in parallel: the page preloads the script
// (see `build/program-preload.ts`), this file preloads the picture.
preloadFirstPicture(location);
void import("./app/start.tsx");
